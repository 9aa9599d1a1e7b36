"""Runs the small experiments that explain the loss (rolling point, toy circles …); seconds, no study.

python -m benchmark synthetic
python -m benchmark synthetic toy_circles --again
"""

import argparse

from benchmark.commands import _options


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all of them (--list)")
    _options.add(parser, "--results", "--data")
    parser.add_argument("--again", action="store_true", help="also what is there already")
    parser.add_argument("--list", action="store_true", help="list the names and run nothing")


def execute(args: argparse.Namespace) -> int:
    from benchmark import synthetic

    for name in args.names:
        synthetic.key(name)  # an unknown one is refused before the first is made
    for name in args.names or synthetic.VERSIONS:
        if args.list:
            print(name)
            continue
        made = synthetic.make(name, args.results, args.data, args.again)
        path = args.results / "synthetic" / f"{name}.parquet"
        print(f"{path}: written" if made else f"{name}: is there already (--again to make it anew)")
    return 0
