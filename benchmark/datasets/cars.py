"""Cars-196: photos of 196 car models; the first 98 train, the last 98 test.

Both official layouts: `cars_annos.mat` with `car_ims/`, and the devkit with `cars_train/` and `cars_test/`;
the original train and test images are pooled. Make and body type come from the model's
name: "Audi TT RS Coupe 2012" is an Audi and a Coupe.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.datasets._dataset import Dataset, FileSource
from benchmark.datasets._tree import Levels, assembled, halves, locate
from benchmark.errors import UserError

ARCHIVE = (
    "car_ims.tgz with cars_annos.mat, or car_devkit.tgz, cars_train.tgz, cars_test.tgz with "
    "cars_test_annos_withlabels.mat (https://ai.stanford.edu/~jkrause/cars/car_dataset.html)"
)
FOLDERS = ("cars196", "cars", "CARS", "stanford_cars")
TEST_LABELS = "cars_test_annos_withlabels.mat"
MARKERS = ("cars_annos.mat", "devkit/cars_meta.mat")
COUNTS = {"training images": 8_054, "test images": 8_131, "training classes": 98, "test classes": 98}
TWO_WORDS = ("AM General", "Aston Martin", "Land Rover")  # makes; all others are the first word of a name
BODIES = ("Cab", "Convertible", "Coupe", "Hatchback", "Minivan", "SUV", "Sedan", "Van", "Wagon")
UNSAID = {  # body type → parts of names that say nothing, or two things
    "Cab": ("SuperCab",),
    "Coupe": ("500 Abarth", "Challenger SRT8", "Cobalt SS", "Corvette Ron Fellows", "Corvette ZR1", "Gallardo LP",
              "Integra Type R", "XK XKR"),
    "Minivan": ("HHR SS",),
    "SUV": ("TrailBlazer SS",),
    "Sedan": ("300 SRT-8", "Charger SRT-8", "Regal GS", "TL Type-S"),
    "Wagon": ("E-Series Wagon Van",),
}  # fmt: skip


def open(root: Path, expect: Mapping[str, int] | None = COUNTS, missing: str = "") -> Dataset:
    folder = locate("cars", root, FOLDERS, MARKERS, ARCHIVE)
    original = (folder / "cars_annos.mat").exists()
    files, classes, models = _original(folder) if original else _devkit(folder)
    model = [models[c - 1] for c in classes]
    levels: Levels = {
        "model": list(zip(classes, model, strict=True)),
        "make": [make(m) for m in model],
        "body": [body(m) for m in model],
    }
    return assembled("cars", ARCHIVE, expect, FileSource(folder, files), levels, halves(classes, 98), missing)


def _original(folder: Path) -> tuple[list[str], list[int], list[str]]:
    content = _load(folder / "cars_annos.mat")
    annotations = np.atleast_1d(content["annotations"])
    files = [str(path) for path in annotations["relative_im_path"]]
    return files, [int(c) for c in annotations["class"]], _names(content)


def _devkit(folder: Path) -> tuple[list[str], list[int], list[str]]:
    files: list[str] = []
    classes: list[int] = []
    labelled = next((p for p in (folder / "devkit" / TEST_LABELS, folder / TEST_LABELS) if p.exists()), None)
    if labelled is None:
        raise UserError(
            f"{TEST_LABELS} is neither in {str(folder)!r} nor in its devkit; the file that comes with the "
            f"devkit has no labels. It belongs to {ARCHIVE}"
        )
    for path, images in ((folder / "devkit" / "cars_train_annos.mat", "cars_train"), (labelled, "cars_test")):
        annotations = np.atleast_1d(_load(path)["annotations"])
        files += [f"{images}/{name}" for name in annotations["fname"]]
        classes += [int(c) for c in annotations["class"]]
    return files, classes, _names(_load(folder / "devkit" / "cars_meta.mat"))


def _names(content: Mapping[str, Any]) -> list[str]:
    return [str(name) for name in np.atleast_1d(content["class_names"])]


def _load(path: Path) -> Mapping[str, Any]:
    from scipy.io import loadmat

    try:
        return loadmat(path, squeeze_me=True)
    except FileNotFoundError:
        raise UserError(f"{str(path)!r} is missing; it belongs to {ARCHIVE}") from None
    except Exception as error:  # scipy raises many kinds for a damaged file
        raise UserError(f"{str(path)!r} cannot be read ({error}); it belongs to {ARCHIVE}") from None


def make(model: str) -> str:
    return next((m for m in TWO_WORDS if model.startswith(m)), model.split()[0])


def body(model: str) -> str:
    """The last body type that the name says (Phantom Drophead Coupe Convertible); else "Other"."""
    written = next((kind for kind, parts in UNSAID.items() if any(part in model for part in parts)), None)
    said = [word for word in model.split() if word in BODIES]
    return written or (said[-1] if said else "Other")
