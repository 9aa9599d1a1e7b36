"""Errors that a person can act on: what was given, what was expected, what to type next.

Raise `UserError` for anything that is wrong with the input; the command line prints its one line and exits with 2.
"""

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """Something about the input is wrong; the message says what to do about it."""


def unknown(kind: str, given: object, choices: Iterable[str], hint: str = "") -> UserError:
    """The error for a name that is not one of `choices`, with the nearest valid name and where to look."""
    options = sorted(map(str, choices))
    near = difflib.get_close_matches(str(given), options, n=1, cutoff=0.5)
    text = f"unknown {kind} {str(given)!r}"
    text += f"; did you mean {near[0]!r}?" if near else f"; choose from: {', '.join(options)}"
    return UserError(text + (f" ({hint})" if hint else ""))
