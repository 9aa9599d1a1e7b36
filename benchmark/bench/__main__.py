"""Runs the measurements, prints them and keeps them as results/bench/<area>.parquet, which the scalability figure is drawn from.

`make bench`, or `python -m benchmark.bench losses` for one area.
"""

import importlib
import sys
from pathlib import Path

from benchmark.errors import Parser, answered, unknown
from benchmark.files import replacing

AREAS = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))


def main() -> int:
    parser = Parser(prog="python -m benchmark.bench", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"{', '.join(AREAS)} (default: all)")
    parser.add_argument("--results", type=Path, default=Path("results"), help="results folder (default: results)")
    arguments = parser.read(sys.argv[1:])
    for area in arguments.areas:
        if area not in AREAS:
            raise unknown("area", area, AREAS)
    for area in arguments.areas or AREAS:
        measure(area, arguments.results / "bench" / f"{area}.parquet")
    return 0


def measure(area: str, path: Path) -> None:
    import pandas as pd

    print(f"\n{area}: measuring ...\n{_line('', 'n', 'seconds', 'MB', 'ratio', 'memory', 'to')}", flush=True)
    rows = []
    for found in importlib.import_module(f"benchmark.bench.{area}").run():
        rows.append(found)
        print(_line(*map(_text, found.values())), flush=True)
    with replacing(path) as temporary:
        pd.DataFrame(rows).assign(area=area).to_parquet(temporary)
    print(f"kept as {path}", flush=True)


def _text(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value or "")


def _line(*texts: str) -> str:
    """Name, n, seconds, MB, ratio, memory, and what the ratios are to."""
    widths = ("<58", ">9", ">9", ">9", ">8", ">8", "")
    return "  ".join(f"{text:{width}}" for text, width in zip(texts, widths, strict=True)).rstrip()


if __name__ == "__main__":
    sys.exit(answered(main))
