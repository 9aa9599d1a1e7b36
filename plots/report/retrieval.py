"""What was retrieved, for the page: of each data set and protocol the queries with their neighbours, by every method.

Thumbnails are shared by all methods, in one picture a data set (a sprite); without the data, names stand in their place.
"""

import io
import math
from typing import Any

import numpy as np
from PIL import Image

from plots import style
from plots.data import Results
from plots.report.page import data_uri
from plots.retrieved import Album, Retrieved, retrieved

SIDE = 56  # pixels of a thumbnail
IMAGES, FEWEST = 2000, 200  # thumbnails of a data set: with room for all, and with none to spare
BYTES = 1400  # of the page for one thumbnail of a photo; letters take less
ACROSS = 40  # thumbnails in a row of the sprite
GREY, PHOTO = 16, 62  # colours of letters, quality of photos


def places(of_scales: list[Results], room: int) -> dict[str, Any]:
    """The places that can be chosen, and a sprite for each data set that they share, in so many bytes of the page."""
    shown = [kept for results in of_scales for kept in retrieved(results)]
    albums = {kept.album.dataset: kept.album for kept in shown}
    images = max(FEWEST, min(IMAGES, room // (BYTES * max(1, len(albums)))))
    tiles: dict[str, dict[int, int]] = {name: {} for name in albums}  # index of an image → its place in the sprite
    found = [_place(kept, tiles[kept.album.dataset], images) for kept in shown]
    sprites = [_sprite(albums[name], list(of_set)) for name, of_set in tiles.items() if albums[name].opened]
    return {"places": found, "sprites": sprites, "across": ACROSS}


def _place(kept: Retrieved, tiles: dict[int, int], images: int) -> dict[str, Any]:
    """Images by their place in the sprite; queries as long as there is room for their neighbours."""
    queries: list[int] = []
    for place in kept.telling(kept.methods):
        named = [int(kept.queries[place]), *(int(i) for name in kept.methods for i in kept.first(name)[place])]
        new = dict.fromkeys(index for index in named if index not in tiles)
        if len(tiles) + len(new) > images and queries:
            continue
        tiles |= {index: len(tiles) + i for i, index in enumerate(new)}
        queries.append(place)
    found = {int(index) for name in kept.methods for q in queries for index in kept.first(name)[q]}
    used = sorted(found | {int(kept.queries[q]) for q in queries}, key=tiles.__getitem__)
    classes = sorted({kept.labels[index][0] for index in used})
    return {
        "scale": kept.scale,
        "dataset": kept.album.dataset,
        "protocol": kept.protocol,
        "labels": {tiles[index]: kept.labels[index] for index in used},
        "names": {label: kept.album.name(0, label) for label in classes},
        "queries": [tiles[int(kept.queries[q])] for q in queries],
        "methods": [
            {
                "name": name,
                "title": style.title(name),
                "found": [[tiles[int(i)] for i in kept.first(name)[q]] for q in queries],
                "cosine": [[round(float(c), 2) for c in kept.cosine[name][q]] for q in queries],
            }
            for name in kept.methods
        ],
    }


def _sprite(album: Album, indices: list[int]) -> dict[str, Any]:
    """All thumbnails of a data set as one picture in a data URI."""
    rows = math.ceil(len(indices) / ACROSS)
    sheet = np.zeros((rows * SIDE, ACROSS * SIDE, 3), np.uint8)
    for place, index in enumerate(indices):
        top, left = place // ACROSS * SIDE, place % ACROSS * SIDE
        sheet[top : top + SIDE, left : left + SIDE] = album.thumbnail(index, SIDE)
    image, out = Image.fromarray(sheet), io.BytesIO()
    kind = "png" if (sheet == sheet[..., :1]).all() else "jpeg"
    if kind == "png":  # grey
        image.convert("L").quantize(GREY).save(out, kind, optimize=True)
    else:
        image.save(out, kind, quality=PHOTO, optimize=True)
    return {"dataset": album.dataset, "rows": rows, "picture": data_uri(f"image/{kind}", out.getvalue())}
