"""How attempts at an answer end, and the share of each end."""

from collections.abc import Sequence

import pandas as pd

from robustlib.errors import InvalidValueError

STATUSES = ("ok", "no_answer", "truncated", "error")
"""What the column ``status`` of a predictions table holds. All but the first count as wrong."""


def count_statuses(statuses: pd.Series, groups: Sequence[pd.Series]) -> pd.DataFrame:
    """Return how many rows each group has, and the share of each status among them.

    Args:
        statuses: the status of each row.
        groups: for each row the keys of its group.

    Returns:
        The groups as index; columns ``rows``, then one share in [0, 1] per status, in the order of `STATUSES`.

    Raises:
        InvalidValueError: a status is none of `STATUSES`.
    """
    unknown = statuses[~statuses.isin(STATUSES)]
    if len(unknown):
        raise InvalidValueError(f"A status must be one of {', '.join(STATUSES)}, got {unknown.iloc[0]!r}.")
    grouped = pd.DataFrame({status: statuses == status for status in STATUSES}).groupby(list(groups))
    return grouped.size().rename("rows").to_frame().join(grouped.mean())
