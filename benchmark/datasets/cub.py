"""CUB-200-2011: photos of 200 bird species; the first 100 train, the last 100 test.

The official archive's `images.txt`, `image_class_labels.txt` and `images/`. Family and order come from the
bird's name by its longest known ending, so the House Sparrow is no American sparrow.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from benchmark.datasets._dataset import Dataset, FileSource
from benchmark.datasets._tree import Levels, assembled, halves, locate, rows

ARCHIVE = "CUB_200_2011.tgz (https://www.vision.caltech.edu/datasets/cub_200_2011)"
FOLDERS = ("CUB_200_2011", "cub")
MARKERS = ("images.txt",)
COUNTS = {"training images": 5_864, "test images": 5_924, "training classes": 100, "test classes": 100}
UNKNOWN = "unknown"  # family and order of a bird whose name has no known ending
# order → family → endings of names. Taxonomy is a fact; North American sparrows and juncos are Passerellidae.
ORDERS: dict[str, dict[str, str]] = {
    "Anseriformes": {"Anatidae": "Gadwall Mallard Merganser"},
    "Apodiformes": {"Trochilidae": "Hummingbird Violetear"},
    "Caprimulgiformes": {"Caprimulgidae": "Nighthawk will_Widow poor_Will"},
    "Charadriiformes": {
        "Alcidae": "Auklet Guillemot Puffin",
        "Laridae": "Gull Kittiwake Tern",
        "Stercorariidae": "Jaeger",
    },
    "Coraciiformes": {"Alcedinidae": "Kingfisher"},
    "Cuculiformes": {"Cuculidae": "Ani Cuckoo Geococcyx"},
    "Gaviiformes": {"Gaviidae": "Loon"},
    "Passeriformes": {
        "Alaudidae": "Lark",
        "Bombycillidae": "Waxwing",
        "Cardinalidae": "Bunting Cardinal Tanager Blue_Grosbeak Rose_breasted_Grosbeak",
        "Certhiidae": "Creeper",
        "Corvidae": "Crow Jay Nutcracker Raven",
        "Fringillidae": "Finch Goldfinch Grosbeak",
        "Hirundinidae": "Swallow",
        "Icteridae": "Blackbird Bobolink Cowbird Grackle Meadowlark Oriole",
        "Icteriidae": "Chat",
        "Laniidae": "Shrike",
        "Mimidae": "Catbird Mockingbird Thrasher",
        "Motacillidae": "Pipit",
        "Parulidae": "Ovenbird Redstart Warbler Waterthrush Yellowthroat",
        "Passerellidae": "Junco Sparrow Towhee",
        "Passeridae": "House_Sparrow",
        "Ptilonorhynchidae": "Spotted_Catbird",
        "Sittidae": "Nuthatch",
        "Sturnidae": "Starling",
        "Troglodytidae": "Wren",
        "Tyrannidae": "Flycatcher Kingbird Pewee Sayornis",
        "Vireonidae": "Vireo",
    },
    "Pelecaniformes": {"Pelecanidae": "Pelican"},
    "Piciformes": {"Picidae": "Flicker Woodpecker"},
    "Podicipediformes": {"Podicipedidae": "Grebe"},
    "Procellariiformes": {"Diomedeidae": "Albatross", "Procellariidae": "Fulmar"},
    "Suliformes": {"Fregatidae": "Frigatebird", "Phalacrocoracidae": "Cormorant"},
}
ENDINGS = {
    ending: (family, order)
    for order, families in ORDERS.items()
    for family, endings in families.items()
    for ending in endings.split()
}


def open(root: Path, expect: Mapping[str, int] | None = COUNTS, missing: str = "") -> Dataset:
    folder = locate("cub", root, FOLDERS, MARKERS, ARCHIVE)
    number = {image: int(c) for image, c in rows(folder / "image_class_labels.txt", 2, ARCHIVE)}
    listed = rows(folder / "images.txt", 2, ARCHIVE)
    files = [file for _, file in listed]
    classes = [number.get(image, 0) for image, _ in listed]
    bird = [file.split("/")[0].split(".", 1)[-1] for file in files]  # "001.Black_footed_Albatross/….jpg"
    taxa = [taxonomy(b) for b in bird]
    levels: Levels = {
        "species": [(c, b.replace("_", " ")) for c, b in zip(classes, bird, strict=True)],
        "family": [family for family, _ in taxa],
        "order": [order for _, order in taxa],
    }
    unknown = [b for b, (family, _) in dict(zip(bird, taxa, strict=True)).items() if family == UNKNOWN]
    notes = tuple(f"no family is known for the bird {b!r}; its coarser levels are {UNKNOWN!r}" for b in unknown)
    source, side = FileSource(folder / "images", files), halves(classes, 100)
    return assembled("cub", ARCHIVE, expect, source, levels, side, missing, notes=notes)


@cache
def taxonomy(bird: str) -> tuple[str, str]:
    """Family and order of a species written as in CUB: "Black_footed_Albatross" is of the Diomedeidae."""
    words = bird.split("_")
    endings = ("_".join(words[start:]) for start in range(len(words)))  # the longest first
    return next((ENDINGS[ending] for ending in endings if ending in ENDINGS), (UNKNOWN, UNKNOWN))
