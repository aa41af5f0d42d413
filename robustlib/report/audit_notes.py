"""Why a print may differ from the recomputed number: general explanations, tried in order on every unequal cell.

Each explanation takes one audited row and what it may need to know, and returns a note, or "" if it does not apply.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from decimal import Decimal

import pandas as pd

from robustlib.report.audit import exact, last_digit, round_half_up


@dataclass(frozen=True)
class Cell:
    """One audited number."""

    table: str
    model: str
    corruption: str
    metric: str
    printed: str
    unit: str
    recomputed: float
    difference: float
    verdict: str

    @property
    def digit(self) -> Decimal:
        """The unit of the last printed digit."""
        return last_digit(self.printed)

    def prints(self, value: Decimal) -> bool:
        """Whether a value, rounded like this cell, gives this print."""
        return abs(Decimal(self.printed) - value) <= self.digit / 2


def with_notes(audited: pd.DataFrame) -> pd.DataFrame:
    """Return an audit with a column ``note``: what explains each number that is not equal, "" if nothing does.

    Args:
        audited: the frame of `robustlib.report.audit.audit`.
    """
    columns = [field.name for field in fields(Cell)]
    cells = [Cell(*row) for row in audited[columns].itertuples(index=False, name=None)]
    own = [_own_explanation(cell, cells) for cell in cells]
    unexplained = [cell for cell, note in zip(cells, own, strict=True) if _unequal(cell) and not note]
    notes = [note or _common_input(cell, unexplained) for cell, note in zip(cells, own, strict=True)]
    return audited.assign(note=notes)


def misplaced(cell: Cell, cells: list[Cell]) -> str:
    """The print is the recomputed number of another cell of the same row of the same table."""
    if cell.verdict != "differs":
        return ""
    owners = [other for other in cells if _alongside(cell, other) and cell.prints(exact(other.recomputed))]
    return " or ".join(f"is the number of {owner.corruption or owner.model}" for owner in owners)


def rounded_twice(cell: Cell) -> str:
    """Rounding to one more digit first, and then again, gives the print."""
    once = round_half_up(exact(cell.recomputed), cell.digit / 10)
    if round_half_up(once, cell.digit) != Decimal(cell.printed):
        return ""
    return f"rounded twice: first to {once}, then to {cell.printed}"


def from_printed_accuracies(cell: Cell, cells: list[Cell]) -> str:
    """The relative drop was computed from the printed accuracies, not from the exact ones."""
    drop = _drop_from_prints(cell, cells)
    return f"computed from the printed accuracies: {drop:.5f}" if drop is not None and cell.prints(drop) else ""


def digits_swapped(cell: Cell, cells: list[Cell]) -> str:
    """Two neighbouring digits of the print stand the wrong way round."""
    drop = _drop_from_prints(cell, cells)
    for value in (exact(cell.recomputed), *([] if drop is None else [drop])):
        right = round_half_up(value, cell.digit)
        if Decimal(cell.printed) in map(Decimal, _neighbour_swaps(str(right))):
            return (
                f"two digits swapped: {right}, from {'the printed accuracies' if value == drop else 'the exact ones'}"
            )
    return ""


def _own_explanation(cell: Cell, cells: list[Cell]) -> str:
    if not _unequal(cell):
        return ""
    return (
        misplaced(cell, cells)
        or rounded_twice(cell)
        or from_printed_accuracies(cell, cells)
        or digits_swapped(cell, cells)
    )


def _common_input(cell: Cell, unexplained: list[Cell]) -> str:
    """The cell was averaged over a model and corruption whose own accuracy is unexplained, too."""
    if cell not in unexplained:
        return ""
    suspects = [other for other in unexplained if other.model and other.corruption and other.metric == "accuracy"]
    if cell in suspects:
        return "averaged from other accuracies than the published ones"
    sources = [f"{other.model} {other.corruption}" for other in suspects if _depends_on(cell, other)]
    return f"depends on {' and '.join(sources)}, which was averaged from other accuracies" if sources else ""


def _unequal(cell: Cell) -> bool:
    return cell.verdict in ("last digit", "differs")


def _alongside(cell: Cell, other: Cell) -> bool:
    if other is cell or (cell.table, cell.metric) != (other.table, other.metric):
        return False
    if not cell.corruption:
        return not other.corruption
    return bool(other.corruption) and cell.model == other.model


def _depends_on(cell: Cell, source: Cell) -> bool:
    return cell.model in ("", source.model) and cell.corruption in ("", source.corruption)


def _drop_from_prints(cell: Cell, cells: list[Cell]) -> Decimal | None:
    if cell.metric != "relative_drop" or not cell.model:
        return None
    prints = {
        other.metric: Decimal(other.printed)
        for other in cells
        if (other.table, other.model, other.corruption) == (cell.table, cell.model, "")
    }
    clean, mean = prints["clean_accuracy"], prints["mean_accuracy"]
    return (clean - mean) / clean * (100 if cell.unit == "percent" else 1)


def _neighbour_swaps(number: str) -> Iterator[str]:
    for place in range(len(number) - 1):
        pair = number[place : place + 2]
        if pair.isdigit():
            yield number[:place] + pair[::-1] + number[place + 2 :]
