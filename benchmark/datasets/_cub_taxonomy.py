"""Family and order of a bird, from its English name: the last word of a species' name nearly decides it.

Used by `cub.py`. A name is matched by its longest known ending, so the House Sparrow is no American sparrow.
"""

from functools import cache

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


@cache
def _taxonomy(bird: str) -> tuple[str, str]:
    words = bird.split("_")
    for start in range(len(words)):  # the longest ending first
        found = ENDINGS.get("_".join(words[start:]))
        if found:
            return found
    return UNKNOWN, UNKNOWN


def family(bird: str) -> str:
    """Family of a species written as in CUB: "Black_footed_Albatross" is of the Diomedeidae."""
    return _taxonomy(bird)[0]


def order(bird: str) -> str:
    return _taxonomy(bird)[1]
