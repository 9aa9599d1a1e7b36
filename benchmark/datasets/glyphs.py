"""Letters of five scripts in the 16 typefaces that matplotlib ships; needs no download.

Class = character, images = typefaces, hierarchy = character, base letter, script. Letters of different scripts that look
the same (Latin A, Greek Alpha, Cyrillic A) make some labels inconsistent with what can be seen, so that R@1 has a ceiling
below 100 (`_dataset.ceiling`). Symbols and digits, which are no letters, are the distractors of the image-noise study.
"""

import collections
import hashlib
import re
import unicodedata
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmark.datasets._dataset import ArraySource, Dataset
from benchmark.errors import unknown
from benchmark.files import kept_array
from benchmark.seeds import seed

SCRIPTS = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN")
LEVELS = ("character", "base letter", "script")
SIDE = 64  # pixels; settings with smaller images average neighbouring pixels
POINT = 40  # font size in pixels
BASELINE = 45  # row of the baseline
MIN_FACES = 12  # a character must exist in so many typefaces
LAYOUT = 1  # raise when the drawing changes


@lru_cache(maxsize=6)  # a worker does many runs on it
def open(root: Path, script: str = "") -> Dataset:
    if script and script.upper() not in SCRIPTS:
        raise unknown("script", script, [name.lower() for name in SCRIPTS])
    faces = _faces()
    key = hashlib.sha256(f"{LAYOUT} {SIDE} {POINT} {BASELINE} {MIN_FACES}".encode())
    for face in faces:
        key.update(face.read_bytes())
    letters, symbols = _characters(faces)
    images = kept_array(root / "glyphs" / f"letters-{key.hexdigest()[:12]}.npy", lambda: _draw(letters))
    others = kept_array(root / "glyphs" / f"symbols-{key.hexdigest()[:12]}.npy", lambda: _draw(symbols))

    # Classes are ordered by a hash, so that the first half, or the first fifty, is a fair sample of all scripts.
    characters = sorted({c for c, _ in letters}, key=lambda c: seed("glyphs", ord(c)))
    class_of = {c: i for i, c in enumerate(characters)}
    levels = [characters, sorted({_base(c) for c in characters}), sorted(SCRIPTS)]
    rows = [(class_of[c], levels[1].index(_base(c)), levels[2].index(_script(c))) for c in characters]
    by_class = np.array(rows, dtype=np.int64)  # (classes, 3)
    labels = by_class[[class_of[c] for c, _ in letters]]  # (n, 3)
    in_train = labels[:, 0] < len(characters) // 2
    chosen = labels[:, 2] == levels[2].index(script.upper()) if script else np.full(len(labels), True)
    sides = np.where(chosen, np.where(in_train, "train", "test"), "")
    stamp = hashlib.sha256(images.tobytes() + labels.tobytes() + script.encode()).hexdigest()[:16]
    labelled = (labels, tuple(map(tuple, levels)))
    name, more = f"glyphs?script={script}" if script else "glyphs", ArraySource(others)
    return Dataset.sided(name, LEVELS, labelled, sides, ArraySource(images), stamp, distractors=more)


def _faces() -> list[Path]:
    import matplotlib

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    files = sorted(folder.glob("DejaVu*.ttf")) + sorted(folder.glob("STIXGeneral*.ttf"))
    return [f for f in files if "Display" not in f.stem]


def _characters(faces: list[Path]) -> tuple[list[tuple[str, Path]], list[tuple[str, Path]]]:
    """(character, face) pairs of the letters and of the symbols, each character in at least MIN_FACES faces."""
    from fontTools.ttLib import TTFont

    where: dict[int, list[Path]] = collections.defaultdict(list)
    for face in faces:
        for code in TTFont(face, lazy=True).getBestCmap():
            where[code].append(face)
    letters, symbols = [], []
    for code, found in sorted(where.items()):
        if len(found) < MIN_FACES:
            continue
        character = chr(code)
        category = unicodedata.category(character)
        if category in ("Lu", "Ll", "Lt", "Lo") and _script(character) in SCRIPTS:
            letters += [(character, face) for face in found]
        elif category[0] in "NS":
            symbols += [(character, face) for face in found]
    return letters, symbols


def _script(character: str) -> str:
    return unicodedata.name(character).split()[0]


def _base(character: str) -> str:
    """LATIN CAPITAL LETTER A WITH ACUTE and LATIN SMALL LETTER A have the base letter LATIN A."""
    name = re.sub(r" (WITH|AND) .*", "", unicodedata.name(character))
    return re.sub(r" (CAPITAL|SMALL|LETTER|LIGATURE|FINAL|SYMBOL)\b", "", name)


def _draw(pairs: list[tuple[str, Path]]) -> np.ndarray:
    """Images (n, SIDE, SIDE, 1)."""
    from PIL import Image, ImageDraw, ImageFont

    fonts = {
        face: ImageFont.truetype(face, POINT, layout_engine=ImageFont.Layout.BASIC) for face in {f for _, f in pairs}
    }
    images = np.zeros((len(pairs), SIDE, SIDE, 1), dtype=np.uint8)
    for row, (character, face) in enumerate(pairs):
        canvas = Image.new("L", (SIDE, SIDE))
        ImageDraw.Draw(canvas).text((SIDE / 2, BASELINE), character, fill=255, font=fonts[face], anchor="ms")
        images[row, :, :, 0] = np.asarray(canvas)
    return images
