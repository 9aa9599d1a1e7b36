"""What comes with the project beside its code: the studies, the paper's numbers and the reference results.

In a checkout they lie at its top; a wheel carries a copy inside this package (`setup.py`). What is made goes to the folder
that one stands in, with either.
"""

from pathlib import Path

_INSIDE = Path(__file__).resolve().parent / "_shipped"
_ROOT = _INSIDE if _INSIDE.is_dir() else _INSIDE.parents[1]

STUDIES = _ROOT / "studies"
PUBLISHED = _ROOT / "results" / "published"


def reference(results: Path) -> Path:
    """The results that count as done in a results folder: its own reference, or in a wheel the one that it carries."""
    own = results / "reference"
    return _ROOT / "results" / "reference" if _INSIDE.is_dir() and not own.is_dir() else own
