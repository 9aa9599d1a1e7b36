"""Runs the measurements, prints them and keeps them as results/bench/<area>.parquet, which the scalability figure is drawn from.

`make bench`, or `python -m benchmark.bench losses` for one area.
"""

import importlib
import sys
from pathlib import Path

from benchmark.errors import Parser, answered, unknown

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

    from benchmark.files import replacing

    print(f"\n{area}: measuring ...", flush=True)
    rows = importlib.import_module(f"benchmark.bench.{area}").run()
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        pd.DataFrame(rows).assign(area=area).to_parquet(temporary)
    print(table(rows))
    print(f"kept as {path}", flush=True)


def table(rows: list[dict]) -> str:
    """name, n, seconds, peak memory, and the ratios of time and memory to another row, in aligned columns."""
    width = max(len(str(row["name"])) for row in rows)
    lines = [f"{'':{width}}  {'n':>7}  {'seconds':>9}  {'peak MB':>8}  {'ratio':>7}  {'memory':>7}  to"]
    for row in rows:
        peak = "" if row.get("peak_mb") is None else f"{row['peak_mb']:.0f}"
        ratio, memory = ("" if row.get(key) is None else f"{row[key]:.2f}" for key in ("ratio", "memory_ratio"))
        start = f"{row['name']:{width}}  {row['n']:>7,}  {row['seconds']:>9.4f}  {peak:>8}"
        lines.append(f"{start}  {ratio:>7}  {memory:>7}  {row.get('baseline', '')}".rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(answered(main))
