"""Writes the page with every verdict, warning, table, figure, run and method: results/report/index.html.

python -m benchmark report
python -m benchmark report --scale laptop --serve
"""

import argparse
from pathlib import Path

from benchmark.commands import _options
from benchmark.errors import UserError
from benchmark.planning.study import SCALES


def configure(parser: argparse.ArgumentParser) -> None:
    words = f"{', '.join(SCALES)}, with commas between several (default: all that have results)"
    parser.add_argument("--scale", default="", help=words)
    _options.add(parser, "--results")
    parser.add_argument("--data", type=Path, default=Path("data"), metavar="DIR", help="for images (default: data)")
    parser.add_argument("--serve", action="store_true", help="show it on this machine, fresh on every reload")
    parser.add_argument("--port", type=int, default=8765, help="for --serve (default: 8765; 0: any that is free)")


def execute(args: argparse.Namespace) -> int:
    from plots import report
    from plots.report.server import serve

    scales = _options.names(args.scale)
    if not 0 <= args.port < 65536:
        raise UserError(f"--port {args.port} must lie between 0 (any that is free) and 65535")
    if args.serve:
        serve(args.results, scales, args.port, args.data)
        return 0
    path = report.write(args.results, scales, args.data)
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0
