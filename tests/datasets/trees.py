"""Small trees in the true layout of each data set, with real image files; used by the tests beside this file."""

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

BIRDS = [
    "001.Black_footed_Albatross",
    "002.Laysan_Albatross",
    "070.Green_Violetear",
    "084.Red_legged_Kittiwake",
    "100.Brown_Pelican",
]
BIRDS += ["118.House_Sparrow", "130.Tree_Sparrow", "141.Artic_Tern", "200.Common_Yellowthroat"]
CARS = {1: "AM General Hummer SUV 2000", 6: "Acura Integra Type R 2001", 98: "Eagle Talon Hatchback 1998"}
CARS |= {99: "FIAT 500 Abarth 2012", 116: "Ford E-Series Wagon Van 2012", 196: "smart fortwo Convertible 2012"}
SPECIES = [
    "00000_Animalia_Annelida_Clitellata_Haplotaxida_Lumbricidae_Lumbricus_terrestris",
    "00001_Animalia_Chordata_Aves_Passeriformes_Muscicapidae_Oenanthe_oenanthe",
    "00002_Animalia_Chordata_Aves_Passeriformes_Muscicapidae_Oenanthe_isabellina",
    "00003_Animalia_Chordata_Aves_Passeriformes_Corvidae_Corvus_corax",
    "00004_Plantae_Tracheophyta_Magnoliopsida_Apiales_Apiaceae_Oenanthe_crocata",
    "00005_Plantae_Tracheophyta_Magnoliopsida_Apiales_Apiaceae_Daucus_carota",
    "00006_Fungi_Basidiomycota_Agaricomycetes_Agaricales_Amanitaceae_Amanita_muscaria",
    "00007_Animalia_Mollusca_Gastropoda_Stylommatophora_Helicidae_Helix_pomatia",
]


def photo(path: Path, number: int = 0, size: tuple[int, int] = (40, 30), mode: str = "RGB") -> Path:
    """An image file whose pixels depend on its number; size is (width, height)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    generator = np.random.Generator(np.random.PCG64(number))
    rough = generator.integers(0, 256, (4, 5, 3), dtype=np.uint8)
    Image.fromarray(rough).resize(size).convert(mode).save(path)
    return path


def cub(root: Path, images: int = 3) -> Path:
    folder = root / "CUB_200_2011"
    listed: list[str] = []
    labels: list[str] = []
    for bird in BIRDS:
        for i in range(images):
            number = len(listed) + 1
            file = f"{bird}/{bird[4:]}_{i:04d}_{number}.jpg"
            photo(folder / "images" / file, number, mode="L" if number == 2 else "RGB")
            listed.append(f"{number} {file}")
            labels.append(f"{number} {int(bird[:3])}")
    (folder / "images.txt").write_text("\n".join(listed) + "\n")
    (folder / "image_class_labels.txt").write_text("\n".join(labels) + "\n")
    return root


def _class_names() -> np.ndarray:
    names = np.empty(196, dtype=object)
    names[:] = [CARS.get(i, f"Make Model{i} Sedan 2012") for i in range(1, 197)]
    return names


def _annotations(rows: list[tuple[str, int]], path_field: str) -> np.ndarray:
    table = np.zeros(len(rows), dtype=[(path_field, object), ("bbox_x1", object), ("class", object)])
    for i, (file, number) in enumerate(rows):
        table[i] = (file, 1, number)
    return table


def cars_original(root: Path, images: int = 2) -> Path:
    from scipy.io import savemat

    rows: list[tuple[str, int]] = []
    for number in CARS:
        for _ in range(images):
            file = f"car_ims/{len(rows) + 1:06d}.jpg"
            photo(root / "cars" / file, len(rows))
            rows.append((file, number))
    content = {"annotations": _annotations(rows, "relative_im_path"), "class_names": _class_names()}
    savemat(root / "cars" / "cars_annos.mat", content)
    return root


def cars_devkit(root: Path, images: int = 1) -> Path:
    from scipy.io import savemat

    folder = root / "stanford_cars"
    (folder / "devkit").mkdir(parents=True)
    for part, annotations in (("train", "cars_train_annos"), ("test", "cars_test_annos_withlabels")):
        rows: list[tuple[str, int]] = []
        for number in CARS:  # every class is in both of the original parts
            for _ in range(images):
                file = f"{len(rows) + 1:05d}.jpg"
                photo(folder / f"cars_{part}" / file, len(rows))
                rows.append((file, number))
        savemat(folder / "devkit" / f"{annotations}.mat", {"annotations": _annotations(rows, "fname")})
    savemat(folder / "devkit" / "cars_meta.mat", {"class_names": _class_names()})
    return root


def sop(root: Path, images: int = 3) -> Path:
    folder = root / "Stanford_Online_Products"
    categories = ("bicycle", "chair")
    image = 0
    for side, products in (("train", range(1, 7)), ("test", range(7, 11))):
        lines = ["image_id class_id super_class_id path"]
        for product in products:
            category = product % 2
            for i in range(images):
                image += 1
                file = f"{categories[category]}_final/{1000 + product}_{i}.JPG"
                photo(folder / file, image)
                lines.append(f"{image} {product} {category + 1} {file}")
        (folder / f"Ebay_{side}.txt").write_text("\n".join(lines) + "\n")
    return root


def inshop(root: Path) -> Path:
    folder = root / "inshop"
    lines = []
    places = ["WOMEN/Dresses", "WOMEN/Shorts", "MEN/Shorts", "WOMEN/Dresses", "MEN/Shorts", "WOMEN/Shorts"]
    for item, place in enumerate(places, 1):
        for i in range(4):
            status = "train" if item <= 3 else "query" if i < 2 else "gallery"
            file = f"img/{place}/id_{item:08d}/{i:02d}_1_front.jpg"
            photo(folder / file, 10 * item + i)
            lines.append(f"{file:<70} id_{item:08d} {status}")
    head = [str(len(lines)), "image_name item_id evaluation_status"]
    (folder / "list_eval_partition.txt").write_text("\n".join(head + lines) + "\n")
    return root


def inat(root: Path, images: int = 2) -> Path:
    for s, species in enumerate(SPECIES):
        for i in range(images):
            photo(root / "inat" / "train_mini" / species / f"{i}.jpg", 10 * s + i)
    return root


def cifar100(root: Path) -> Path:
    folder = root / "cifar-100-python"
    folder.mkdir(parents=True)
    names = {"fine_label_names": [f"thing{i}" for i in range(8)], "coarse_label_names": ["animal", "machine"]}
    (folder / "meta").write_bytes(pickle.dumps(names))
    for part, count in (("train", 24), ("test", 8)):
        fine = [i % 8 for i in range(count)]
        data = np.zeros((count, 3, 32, 32), dtype=np.uint8)
        data[:, 0] = np.arange(count)[:, None, None]  # red says which
        content = {"data": data.reshape(count, -1), "fine_labels": fine, "coarse_labels": [f % 2 for f in fine]}
        (folder / part).write_bytes(pickle.dumps(content))
    return root


def aircraft(root: Path) -> Path:
    folder = root / "fgvc-aircraft-2013b" / "data"
    variants = [("707-320", "Boeing 707", "Boeing"), ("737-200", "Boeing 737", "Boeing")]
    variants += [("737-300", "Boeing 737", "Boeing"), ("F-16A/B", "F-16", "Lockheed Martin")]
    lists: dict[str, list[str]] = {}
    for v, names in enumerate(variants):
        for i in range(3):
            image = f"{1_000_000 + 10 * v + i}"
            photo(folder / "images" / f"{image}.jpg", 10 * v + i, (60, 50))
            part = "trainval" if i else "test"
            for level, name in zip(("variant", "family", "manufacturer"), names, strict=True):
                lists.setdefault(f"images_{level}_{part}.txt", []).append(f"{image} {name}")
    for file, lines in lists.items():
        (folder / file).write_text("\n".join(lines) + "\n")
    (folder / "variants.txt").write_text("\n".join(v[0] for v in variants) + "\n")
    return root


def omniglot(root: Path) -> Path:
    for part, alphabets in (("background", ["Greek", "Latin"]), ("evaluation", ["Tengwar", "Oriya"])):
        for a, alphabet in enumerate(alphabets):
            for character in (1, 2):
                for i in range(2):
                    place = root / "omniglot-py" / f"images_{part}" / alphabet / f"character{character:02d}"
                    photo(place / f"{a}{character}{i}.png", 10 * a + i, (105, 105), "1")
    return root


def flowers(root: Path) -> Path:
    from scipy.io import savemat

    numbers = [1, 1, 2, 2, 51, 51, 52, 52, 102, 102]
    for i in range(len(numbers)):
        photo(root / "flowers-102" / "jpg" / f"image_{i + 1:05d}.jpg", i)
    savemat(root / "flowers-102" / "imagelabels.mat", {"labels": np.array([numbers])})
    return root


TREES: dict[str, tuple[str, Callable[[Path], Path]]] = {  # a tree's name → its data set and its builder
    "cub": ("cub", cub),
    "cars, original": ("cars", cars_original),
    "cars, devkit": ("cars", cars_devkit),
    "sop": ("sop", sop),
    "inshop": ("inshop", inshop),
    "inat": ("inat", inat),
    "cifar100": ("cifar100", cifar100),
    "aircraft": ("aircraft", aircraft),
    "omniglot": ("omniglot", omniglot),
    "flowers": ("flowers", flowers),
}
