"""mini-iNaturalist-2021: 50 photos of each of 10,000 species; half of each super-category trains.

`train_mini/`, whose folder names hold the taxonomy. The species of each side are drawn from a fixed seed;
of an odd number the training side has one more.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmark.datasets._dataset import Dataset, FileSource, fingerprint, levelled
from benchmark.datasets._tree import check_counts, image_files, locate, some_sizes
from benchmark.errors import UserError
from benchmark.seeds import numpy_generator

ARCHIVE = "train_mini.tar.gz (https://github.com/visipedia/inat_comp/tree/master/2021)"
FOLDERS = ("inat", "inat2021", "iNaturalist")
MARKERS = ("train_mini",)
COUNTS = {"training images": 250_150, "test images": 249_850, "training classes": 5_003, "test classes": 4_997}
COUNTS |= {"super-category": 11}
LEVELS = ("species", "genus", "family", "order", "class", "super-category")
RANKS = ("kingdom", "phylum", "class", "order", "family", "genus", "species")
SUPER_CATEGORIES = {  # a taxon → the super-category of everything in it
    "Plantae": "Plants", "Fungi": "Fungi", "Mollusca": "Mollusks", "Insecta": "Insects", "Arachnida": "Arachnids",
    "Actinopterygii": "Ray-finned Fishes", "Amphibia": "Amphibians", "Reptilia": "Reptiles", "Aves": "Birds",
    "Mammalia": "Mammals",
}  # fmt: skip


def open(root: Path, expect: Mapping[str, int] | None = COUNTS) -> Dataset:
    folder = locate("inat", root, FOLDERS, MARKERS, ARCHIVE) / "train_mini"
    species = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    lineages = [lineage(name) for name in species]
    supers = [super_category(found) for found in lineages]
    in_train = _half(species, supers)

    number = {name: i for i, name in enumerate(species)}
    files = [file for file in image_files(folder) if "/" in file]
    of = [number[file.split("/")[0]] for file in files]  # species of each image

    # A genus or family is known by everything above it too, since botany and zoology share names.
    by_species, names = levelled(
        [(i, f"{found[-2]} {found[-1]}") for i, found in enumerate(lineages)],
        *[[found[:depth] for found in lineages] for depth in (6, 5, 4, 3)],
        supers,
    )
    labels = by_species[of]
    sides = np.where(in_train[of], "train", "test")
    check_counts("inat", expect, labels, sides, LEVELS, ARCHIVE)
    stamp = fingerprint("inat", files, labels, in_train, some_sizes(folder, files))
    return Dataset.sided("inat", LEVELS, (labels, names), sides, FileSource(folder, files), stamp)


def lineage(folder: str) -> tuple[str, ...]:
    """Kingdom to species from a folder name: 00000_Animalia_Annelida_Clitellata_Haplotaxida_Lumbricidae_…"""
    parts = folder.split("_", 7)
    if len(parts) != 8:
        raise UserError(f"folder {folder!r} of train_mini is not named 00000_{'_'.join(RANKS)}; unpack {ARCHIVE}")
    return tuple(parts[1:])


def super_category(found: tuple[str, ...]) -> str:
    """One of iNaturalist's eleven; animals of none of the ten named ones are "Animalia"."""
    kingdom, phylum, class_ = found[:3]
    return next((SUPER_CATEGORIES[t] for t in (kingdom, phylum, class_) if t in SUPER_CATEGORIES), kingdom)


def _half(species: list[str], supers: list[str]) -> np.ndarray:
    """Which species train: half of each super-category, (species,) bool."""
    in_train = np.zeros(len(species), dtype=bool)
    for name in sorted(set(supers)):
        members = np.flatnonzero(np.array(supers) == name)
        chosen = numpy_generator("inat", "split", name).permutation(members)
        in_train[chosen[: (len(members) + 1) // 2]] = True
    return in_train
