"""A drawing as it goes into the page: a small PNG and the PDF as data URIs, with its caption."""

import base64
import io
from dataclasses import dataclass

import matplotlib
from PIL import Image

from plots.style import RC, Drawing, settle

DPI = 170  # sharp at twice the width that a figure has in a paper
COLOURS = 128  # of the palette; a third of the bytes, and no difference that can be seen in line art
LARGEST_PDF = 300_000  # bytes; scatter plots beyond it are left to `python -m plots figures`


@dataclass(frozen=True)
class Picture:
    png: str  # data URI
    pdf: str  # data URI, "" where it is too large
    width: int  # pixels
    height: int
    caption: str


def picture(drawing: Drawing) -> Picture:
    # Type 3 fonts take a third of the time; for printing there are the files of `python -m plots figures`.
    with matplotlib.rc_context(RC | {"pdf.fonttype": 3}):
        settle(drawing.figure)
        raw = io.BytesIO()
        drawing.figure.savefig(raw, format="png", dpi=DPI, metadata={"Software": None})
        vector = io.BytesIO()
        nothing = dict.fromkeys(("CreationDate", "ModDate", "Creator", "Producer"))
        drawing.figure.savefig(vector, format="pdf", metadata=nothing)
    image = Image.open(raw).convert("RGB")
    small = io.BytesIO()
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(small, "png", optimize=True)
    pdf = vector.getvalue()
    return Picture(
        png=_uri("image/png", small.getvalue()),
        pdf=_uri("application/pdf", pdf) if len(pdf) <= LARGEST_PDF else "",
        width=image.width,
        height=image.height,
        caption=drawing.caption.strip(),
    )


def _uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
