"""Errors written for the person who reads them.

Every error that a user can cause is one of these, so that the command line can show its sentence without a traceback.
"""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST_MENU = 20


class RobustlibError(Exception):
    """Base of all errors that robustlib raises on purpose."""


class InvalidValueError(RobustlibError, ValueError):
    """A value outside its range; the message names the value and what would be right."""


class InvalidTypeError(RobustlibError, TypeError):
    """A value of a type that the function does not take."""


class UnknownNameError(RobustlibError, LookupError):
    """A name that is in no registry; the message lists near misses, and the whole menu where it fits in a line."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        menu = sorted(known)
        names = ", ".join(menu) or "none"
        if len(menu) > _LONGEST_MENU:
            names = f"{len(menu)} names from {menu[0]} to {menu[-1]}"
        super().__init__(f"Unknown {kind} {name!r}.{did_you_mean(name, menu)} Known: {names}.")


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return " Did you mean ...?" with the known names that a name comes close to, "" where there are none."""
    near = get_close_matches(str(name), list(known), n=3)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
