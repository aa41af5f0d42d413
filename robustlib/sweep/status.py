"""How far a sweep has come, read from its output folder alone."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from robustlib.sweep.store import PLAN, count_statuses, read_record


@dataclass(frozen=True)
class SweepStatus:
    """Shards and answers of a sweep, finished or not."""

    done: int
    """Shards that are whole."""
    failed: int
    """Of these, shards in which an answer has the status "error"."""
    remaining: int
    """Shards still to be made."""
    statuses: dict[str, int]
    """Answers so far by their status."""


def sweep_status(out: str | Path) -> SweepStatus:
    """Count what a sweep has done, also while it is running.

    Raises:
        StoreError: there is no sweep in the folder, or one of its shards cannot be read.
    """
    folder = Path(out)
    planned = [folder / path for path in read_record(folder, PLAN)["shards"]]
    counts = [Counter(count_statuses(path)) for path in planned if path.exists()]
    return SweepStatus(
        done=len(counts),
        failed=sum(count["error"] > 0 for count in counts),
        remaining=len(planned) - len(counts),
        statuses=dict(sum(counts, Counter())),
    )
