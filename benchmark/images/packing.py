"""Packs: images decoded and resized once and memory-mapped, since decoding them every epoch starves a GPU.

A pack holds images after the first step of a transform, which is then the identity: training from a pack
gives the same numbers as training from the files. To make one: `python -m benchmark pack DATASET`.
"""

import json
import shutil
import zlib
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmark.datasets._dataset import ArraySource, Dataset, Source
from benchmark.errors import UserError
from benchmark.files import locked, replacing, save_array
from benchmark.images.transforms import FirstStep, evaluation_step, training_step
from benchmark.spec import RunSpec

VERSION = 1  # of the layout
RECORD = np.dtype([(name, "<i8") for name in ("index", "offset", "height", "width", "channels", "crc")])
CHUNK = 64  # images between two writes


@dataclass(frozen=True)
class PackedSource:
    """Images of different sizes in one memory-mapped file; what is not in it comes from `rest`."""

    folder: Path
    rest: Source

    @cached_property
    def _pixels(self) -> np.ndarray:
        return np.memmap(self.folder / "images.bin", dtype=np.uint8, mode="r")

    @cached_property
    def _rows(self) -> dict[int, tuple[int, int, int, int, int]]:
        return {r[0]: r[1:] for r in np.load(self.folder / "index.npy").tolist()}

    def __len__(self) -> int:
        return len(self.rest)

    def read(self, index: int) -> np.ndarray:
        row = self._rows.get(index)
        if row is None:
            return self.rest.read(index)
        offset, height, width, channels, _ = row
        pixels = self._pixels[offset : offset + height * width * channels]
        return pixels.reshape(height, width, channels)

    def damaged(self) -> list[int]:
        """Samples whose pixels do not have the checksum that they were written with."""
        return [i for i, row in self._rows.items() if zlib.crc32(self.read(i).tobytes()) != row[-1]]


def needed(spec: RunSpec, dataset: Dataset) -> list[tuple[FirstStep, np.ndarray]]:
    """The packs that a setting reads, and the samples that each must hold."""
    train, judged = training_step(spec), evaluation_step(spec)
    everything = np.arange(len(dataset))
    if train.side == 0 or train == judged:
        return [(train, everything)]  # a full-size image serves both
    return [(train, dataset.train), (judged, everything)]


def sources(dataset: Dataset, spec: RunSpec, root: Path) -> tuple[Source, Source]:
    """Where training and evaluation read their images: packs that change no number where there are some."""
    found = (packed(dataset, step, root) for step in (training_step(spec), evaluation_step(spec)))
    full = packed(dataset, FirstStep(), root) or dataset.source
    train, judged = (pack or full for pack in found)
    return train, judged


def packed(dataset: Dataset, step: FirstStep, root: Path) -> PackedSource | None:
    """The finished pack of a data set after `step`, if there is one for exactly this data."""
    folder = pack_folder(dataset, step, root)
    if isinstance(dataset.source, ArraySource) or not (folder / "pack.json").exists():
        return None
    return PackedSource(folder, dataset.source)


def pack_folder(dataset: Dataset, step: FirstStep, root: Path) -> Path:
    return root / "packed" / f"{dataset.file_name}-{dataset.fingerprint}" / step.name


def pack(
    dataset: Dataset, step: FirstStep, indices: np.ndarray, root: Path, workers: int = 2
) -> Generator[int, None, None]:
    """Make a pack, or go on with one that was interrupted; yields how many images are in it so far."""
    folder = pack_folder(dataset, step, root)
    with locked(folder / "lock"):
        if (folder / "pack.json").exists():
            yield len(indices)
            return
        done, size = _resume(folder)
        todo = [int(i) for i in indices if i not in done]
        _check_space(dataset, step, todo, folder)
        yield len(done)
        with (
            (folder / "images.bin").open("ab") as pixels,
            (folder / "index.part").open("ab") as index,
            ThreadPoolExecutor(workers) as pool,
        ):
            for chunk in (todo[s : s + CHUNK] for s in range(0, len(todo), CHUNK)):
                images = list(pool.map(lambda i: np.ascontiguousarray(step(dataset.source.read(i))), chunk))
                offsets = size + np.cumsum([0, *(image.size for image in images)])
                rows = [
                    (i, offset, *image.shape, zlib.crc32(image.tobytes()))
                    for i, offset, image in zip(chunk, offsets, images, strict=False)
                ]
                pixels.write(b"".join(image.tobytes() for image in images))
                pixels.flush()  # pixels before their index: what the index names is there
                index.write(np.array(rows, dtype=RECORD).tobytes())
                index.flush()
                size = int(offsets[-1])
                done.update(chunk)
                yield len(done)
        _finish(folder, dataset, step)


def _resume(folder: Path) -> tuple[set[int], int]:
    """What an interrupted pack holds; whatever was written behind the last whole record is cut off."""
    pixels, part = folder / "images.bin", folder / "index.part"
    pixels.touch()
    part.touch()
    rows = np.frombuffer(part.read_bytes()[: part.stat().st_size // RECORD.itemsize * RECORD.itemsize], dtype=RECORD)
    ends = rows["offset"] + rows["height"] * rows["width"] * rows["channels"]
    rows = rows[: int(np.searchsorted(ends, pixels.stat().st_size, side="right"))]
    size = int(ends[len(rows) - 1]) if len(rows) else 0
    with part.open("r+b") as file:
        file.truncate(rows.nbytes)
    with pixels.open("r+b") as file:
        file.truncate(size)
    return set(rows["index"].tolist()), size


def _finish(folder: Path, dataset: Dataset, step: FirstStep) -> None:
    rows = np.frombuffer((folder / "index.part").read_bytes(), dtype=RECORD)
    save_array(folder / "index.npy", rows)
    about = {
        "version": VERSION,
        "dataset": dataset.name,
        "fingerprint": dataset.fingerprint,
        "step": step.name,
        "images": len(rows),
        "bytes": (folder / "images.bin").stat().st_size,
    }
    with replacing(folder / "pack.json") as temporary:  # the last thing written: it means a finished pack
        temporary.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    (folder / "index.part").unlink()


def _check_space(dataset: Dataset, step: FirstStep, todo: list[int], folder: Path) -> None:
    probe = todo[:: max(1, len(todo) // 16)]
    if not probe:
        return
    expected = sum(step(dataset.source.read(i)).size for i in probe) / len(probe) * len(todo)
    free = shutil.disk_usage(folder).free
    if expected > free:
        raise UserError(
            f"the pack {step.name} of {dataset.name} needs about {expected / 1e9:.1f} GB and "
            f"{free / 1e9:.1f} GB are free; make room, or pack a smaller size with --side"
        )
