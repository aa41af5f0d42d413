"""How far a sweep has come, read from its output folder alone, whether it is running, dead or finished."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from robustlib.sweep.lock import holder, lock_of
from robustlib.sweep.store import PLAN, StoreError, count_statuses, read_record

RECENT = 100
"""The last so many shards tell the rate, as models and conditions differ in what a shard takes."""


@dataclass(frozen=True)
class SweepStatus:
    """Shards and answers of a sweep, finished or not."""

    done: int
    """Shards that are whole."""
    failed: int
    """Of these, shards in which an answer has the status "error"; `run_sweep` makes them again if asked to."""
    remaining: int
    """Shards still to be made, those that are damaged among them."""
    damaged: tuple[Path, ...]
    """Shards that are there but cannot be read; the next run makes them again."""
    statuses: dict[str, int]
    """Answers so far by their status."""
    process: str
    """Which process is writing, "" if none is."""
    shards_per_minute: float | None
    """Of the run that is writing, or was the last to: over its last `RECENT` shards. None before its first one."""

    @property
    def seconds_left(self) -> float | None:
        """What the remaining shards take at this rate; None if unknown, as while failed ones are retried."""
        if not self.remaining:
            return None if self.process else 0.0
        return self.remaining / self.shards_per_minute * 60 if self.shards_per_minute else None


def sweep_status(out: str | Path) -> SweepStatus:
    """Count what a sweep has done, also while it is running; of each shard one column is read.

    Raises:
        StoreError: there is no sweep in the folder, or its plan is damaged.
    """
    folder = Path(out)
    planned = [folder / path for path in read_record(folder, PLAN)["shards"]]
    process = holder(folder)
    counts: list[dict[str, int]] = []
    damaged: list[Path] = []
    times: list[float] = []
    for path in planned:
        try:
            counts.append(count_statuses(path))
            times.append(path.stat().st_mtime)
        except FileNotFoundError:
            continue
        except StoreError:
            if path.exists():
                damaged.append(path)
    return SweepStatus(
        done=len(counts),
        failed=sum("error" in count for count in counts),
        remaining=len(planned) - len(counts),
        damaged=tuple(damaged),
        statuses=dict(sum(map(Counter, counts), Counter())),
        process=process,
        shards_per_minute=_rate(folder, times),
    )


def _rate(out: Path, times: list[float]) -> float | None:
    """Return shards a minute from the times at which they were written, and that at which the last run began."""
    lock = lock_of(out)
    if not lock.exists():
        return None
    began = lock.stat().st_mtime
    ends = [began, *sorted(time for time in times if time > began)][-RECENT - 1 :]
    seconds = ends[-1] - ends[0]
    return 60 * (len(ends) - 1) / seconds if seconds else None
