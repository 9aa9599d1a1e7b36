"""`python -m plots.needs tables|figures`: the studies that tables or figures are made from, for `make` to run.

The modules are read, not loaded: this answers at once, and a broken figure costs no study.
"""

import ast
import sys
from pathlib import Path

KINDS = {"tables": "table", "figures": "figure"}
WORDS = ("KIND", "STUDY", "NEEDS")


def needed(kind: str) -> list[str]:
    """The STUDY of every module of a kind, and what else it NEEDS."""
    told = [_words(path) for path in sorted(Path(__file__).parent.glob("*s/[!_]*.py"))]
    wanted = [words for words in told if words.get("KIND") == kind]
    studies = {study for words in wanted for study in (words.get("STUDY", ""), *words.get("NEEDS", ()))}
    return sorted(studies - {""})


def _words(path: Path) -> dict:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError:  # `python -m plots` says what is wrong with it
        return {}
    pairs = [(n.targets[0], n.value) for n in tree.body if isinstance(n, ast.Assign)]
    return {t.id: ast.literal_eval(v) for t, v in pairs if isinstance(t, ast.Name) and t.id in WORDS}


if __name__ == "__main__":
    if sys.argv[1:2] == [] or sys.argv[1] not in KINDS:
        sys.exit(f"usage: python -m plots.needs {'|'.join(KINDS)}")
    print(*needed(KINDS[sys.argv[1]]))
