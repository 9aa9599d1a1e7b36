"""Errors that a person can act on: what was given, what was expected, what to type next.

Raise `UserError` for anything that is wrong with the input; `answered` prints its one line, and so it does for
a full or a read-only disk. `Parser` makes mistakes on the command line errors of this kind.
"""

import argparse
import difflib
import errno
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

FULL = (errno.ENOSPC, errno.EDQUOT)
DISK = (*FULL, errno.EROFS, errno.EACCES, errno.EPERM)  # nothing else could be written either
CODES = "exit codes: 0 well, 1 a comparison failed, 2 bad input, 3 runs failed, 4 disk full, 130 stopped"


class UserError(ValueError):
    """Something about the input is wrong; the message says what to do about it."""


def unknown(kind: str, given: object, choices: Iterable[str], hint: str = "") -> UserError:
    """The error for a name that is not one of `choices`, with the nearest valid name and where to look."""
    options = sorted(map(str, choices))
    near = difflib.get_close_matches(str(given), options, n=1, cutoff=0.5)
    text = f"unknown {kind} {str(given)!r}"
    text += f"; did you mean {near[0]!r}?" if near else f"; choose from: {', '.join(options)}"
    return UserError(text + (f" ({hint})" if hint else ""))


def answered(command: Callable[[], int]) -> int:
    """The exit code of a command; what a person can act on is one line, anything else a traceback."""
    warnings.formatwarning = lambda message, *where, **more: f"warning: {message}\n"
    try:
        return command()
    except UserError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # … | head
        sys.stderr.close()
        return 0
    except OSError as problem:
        if problem.errno in FULL:
            print(f"error: no room left ({problem.strerror}); make some, then type the same", file=sys.stderr)
            return 4
        if problem.errno not in DISK:
            raise
        print(f"error: cannot use {problem.filename!r} ({problem.strerror}); choose another folder", file=sys.stderr)
        return 2


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} ({self.prog} --help)")

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        found, rest = self.parse_known_args(words)
        for word in rest:
            if word.startswith("-"):
                options = [option for option in self._option_string_actions if option.startswith("--")]
                raise unknown("option", word.partition("=")[0], options, f"{self.prog} --help")
            raise UserError(f"did not expect {word!r} ({self.prog} --help)")
        return found
