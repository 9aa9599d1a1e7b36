"""Data sets that torchvision can fetch: found below the data folder, else downloaded."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmark.datasets._tree import find
from benchmark.errors import UserError


def found_or_fetched(
    name: str,
    root: Path,
    folder: str,
    markers: Sequence[str],
    archive: str,
    dataset_class: str,
    parts: Sequence[Mapping[str, object]] = ({},),
) -> Path:
    """The data set's folder; `parts` are the arguments of each download that makes it whole."""
    place = find(root, (folder,), markers)
    if place is not None:
        return place
    from torchvision import datasets

    try:
        root.mkdir(parents=True, exist_ok=True)
        for arguments in parts:
            getattr(datasets, dataset_class)(root, download=True, **arguments)
    except Exception as error:  # no network, no room, a damaged archive: urllib, OSError, RuntimeError, …
        raise UserError(
            f"data set {name} is not in {str(root / folder)!r} and cannot be downloaded ({error}); where "
            f"there is a network, fetch {archive} and unpack it there"
        ) from None
    return root / folder
