"""A `Table` as Markdown, LaTeX, CSV and terminal text: four views of the same cells, with deterministic bytes.

`python -m plots tables` writes them; a file holds all tables of its name (one per data set), one after another.
"""

from plots.render.latex import PREAMBLE, escape_latex, latex
from plots.render.text import LEGEND, as_csv, markdown, terminal

__all__ = ["LEGEND", "PREAMBLE", "as_csv", "escape_latex", "latex", "markdown", "terminal"]
