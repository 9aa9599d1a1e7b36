"""`python -m benchmark COMMAND`: a command is a module of `benchmark/commands/`, found by being there.

Such a module has `configure(parser)` and `execute(args) -> exit code`; the first line of its docstring is
its help. Only the module that was asked for is imported, so help answers at once.
"""

import argparse
import ast
import sys
from importlib import import_module
from pathlib import Path

from benchmark.errors import CODES, Parser, answered, unknown

FOLDER = Path(__file__).parent / "commands"


def commands() -> dict[str, str]:
    """Name and first docstring line of every command."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        if not path.stem.startswith("_"):
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            found[path.stem.replace("_", "-")] = text.partition("\n")[0]
    return found


def overview() -> str:
    width = max(map(len, commands()))
    lines = "\n".join(f"  {name:{width}}  {text}" for name, text in commands().items())
    about = "Is a metric-learning loss really better? Fairly tuned, over several seeds, with one command."
    return f"usage: python -m benchmark COMMAND [--help] …\n\n{about}\n\n{lines}\n\n{CODES}"


def main(arguments: list[str] | None = None) -> int:
    return answered(lambda: _main(sys.argv[1:] if arguments is None else arguments))


def _main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return 0
    name = arguments[0]
    if name not in commands():
        raise unknown("command", name, commands(), "python -m benchmark --help")
    module = import_module(f"benchmark.commands.{name.replace('-', '_')}")
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog=f"python -m benchmark {name}", description=module.__doc__, formatter_class=raw)
    module.configure(parser)
    return module.execute(parser.read(arguments[1:]))


if __name__ == "__main__":
    sys.exit(main())
