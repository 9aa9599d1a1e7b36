"""Make and body type of a car, from its name in Cars-196: "Audi TT RS Coupe 2012" is an Audi and a Coupe.

Used by `cars.py`. The nine body types are those of the hierarchy that the paper cites; where a name says
nothing, or two things, they are written below.
"""

TWO_WORDS = ("AM General", "Aston Martin", "Land Rover")  # makes; all others are the first word of a name
BODIES = ("Cab", "Convertible", "Coupe", "Hatchback", "Minivan", "SUV", "Sedan", "Van", "Wagon")
UNSAID = {  # part of a name → body type
    "300 SRT-8": "Sedan",
    "500 Abarth": "Coupe",
    "Challenger SRT8": "Coupe",
    "Charger SRT-8": "Sedan",
    "Cobalt SS": "Coupe",
    "Corvette Ron Fellows": "Coupe",
    "Corvette ZR1": "Coupe",
    "E-Series Wagon Van": "Wagon",
    "Gallardo LP": "Coupe",
    "HHR SS": "Minivan",
    "Integra Type R": "Coupe",
    "Regal GS": "Sedan",
    "SuperCab": "Cab",
    "TL Type-S": "Sedan",
    "TrailBlazer SS": "SUV",
    "XK XKR": "Coupe",
}


def make(model: str) -> str:
    return next((m for m in TWO_WORDS if model.startswith(m)), model.split()[0])


def body(model: str) -> str:
    """The last body type that the name says (Phantom Drophead Coupe Convertible); else "Other"."""
    written = next((kind for part, kind in UNSAID.items() if part in model), None)
    said = [word for word in model.split() if word in BODIES]
    return written or (said[-1] if said else "Other")
