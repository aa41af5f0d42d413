"""What corruptions there are: the rows of `severities.csv`, read once."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast

from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError

Fidelity = Literal["faithful", "fixed", "ours"]
Parameters = Mapping[str, int | float]

CUSTOM = "custom"
"""The suite of corruptions that were added in this process: no other one knows them."""
SEVERITIES = Path(__file__).with_name("severities.csv")

_FIDELITIES = ("faithful", "fixed", "ours")


@dataclass(frozen=True)
class Corruption:
    """One corruption of one suite, as its row in `severities.csv` states it.

    Attributes:
        name: its name within the suite.
        suite: for example ``"imagenet_c"``; ``suite/name`` is what `corrupt` takes.
        category: its physical kind, for example ``"blur"``.
        function: the function in `robustlib.corruptions.effects` that does it; suites share functions.
        parameters: the function's keyword arguments at severity 1, 2, ...
        random: whether the seed changes the result.
        fidelity: ``"faithful"`` to the published definition, ``"fixed"`` where that is at fault, or ``"ours"``.
        source: where the definition and the parameters come from.
        note: what a reader has to know, above all why it is fixed or ours.
    """

    name: str
    suite: str
    category: str
    function: str
    parameters: tuple[Parameters, ...]
    random: bool
    fidelity: Fidelity
    source: str
    note: str

    @property
    def key(self) -> str:
        """The name that `corrupt` takes: ``suite/name``."""
        return f"{self.suite}/{self.name}"

    @property
    def severities(self) -> tuple[int, ...]:
        """The severities it has: 1 .. 5, or 1 alone if it is binary. Severity 0, the clean image, always exists."""
        return tuple(range(1, len(self.parameters) + 1))


def list_suites() -> tuple[str, ...]:
    """Return the names of the suites, in the order of the data file."""
    return tuple(dict.fromkeys(corruption.suite for corruption in _catalogue().values()))


def list_corruptions(suite: str) -> list[Corruption]:
    """Return the corruptions of a suite, in the order of the data file.

    Raises:
        UnknownNameError: there is no such suite.
    """
    found = [corruption for corruption in _catalogue().values() if corruption.suite == suite]
    if not found:
        raise UnknownNameError("suite of corruptions", suite, list_suites())
    return found


def find_corruption(name: str) -> Corruption:
    """Return the corruption called ``suite/name``.

    Raises:
        UnknownNameError: there is none; the message lists near misses.
    """
    found = _catalogue().get(name)
    if found is None:
        raise UnknownNameError("corruption", name, _catalogue())
    return found


def add_corruption(corruption: Corruption) -> None:
    """Add a corruption that is not in the data file, for as long as this process runs.

    Raises:
        InvalidValueError: there is another of this suite and name.
    """
    if _catalogue().setdefault(corruption.key, corruption) != corruption:
        raise InvalidValueError(f"There is another corruption {corruption.key!r} already; choose another name.")


@cache
def _catalogue() -> dict[str, Corruption]:
    corruptions = [_read_row(row) for row in csv.DictReader(SEVERITIES.read_text(encoding="utf-8").splitlines())]
    return {corruption.key: corruption for corruption in corruptions}


def _read_row(row: dict[str, str]) -> Corruption:
    name, fidelity = f"{row['suite']}/{row['name']}", row["fidelity"]
    if fidelity not in _FIDELITIES:
        raise RobustlibError(f"severities.csv: {name} has the fidelity {fidelity!r}; known: {', '.join(_FIDELITIES)}.")
    if row["random"] not in ("yes", "no"):
        raise RobustlibError(f"severities.csv: {name} has random = {row['random']!r}; it must be yes or no.")
    return Corruption(
        name=row["name"],
        suite=row["suite"],
        category=row["category"],
        function=row["function"],
        parameters=_read_parameters(name, row),
        random=row["random"] == "yes",
        fidelity=cast(Fidelity, fidelity),
        source=row["source"],
        note=row["note"],
    )


def _read_parameters(name: str, row: dict[str, str]) -> tuple[Parameters, ...]:
    """Return the parameters at each severity. A binary corruption without parameters has one empty cell."""
    names = row["parameters"].split()
    cells = [row[f"severity_{level}"].split() for level in range(1, 6)]
    used = [cell for cell in cells if cell] or [[]]
    if used != cells[: len(used)] or any(len(cell) != len(names) for cell in used):
        raise RobustlibError(f"severities.csv: the cells of {name} do not match its parameters {names}.")
    return tuple(MappingProxyType(dict(zip(names, map(_number, cell), strict=True))) for cell in used)


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdigit() else float(text)
