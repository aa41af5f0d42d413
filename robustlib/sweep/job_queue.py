"""The jobs of a run that are still to be given out, for engines whose workers hold one model at a time."""

from collections import Counter, deque
from collections.abc import Collection, Sequence

from robustlib.errors import RobustlibError
from robustlib.sweep.plan import Job

LOSSES = 3
"""How often a job may take its worker along before the run is given up."""


class JobQueue:
    """Jobs by model, in their order."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        """Take all jobs of a run."""
        self._waiting: dict[str, deque[Job]] = {}
        for job in jobs:
            self._waiting.setdefault(job.model, deque()).append(job)
        self._losses: Counter[str] = Counter()

    def take(self, held: str, by_others: Collection[str]) -> Job | None:
        """Return a job for a worker, None if none is left.

        Args:
            held: the model that the worker has in memory, "" for none; its jobs come first. After the last of them the
                worker goes over to the model with the most left to do for each worker that has it.
            by_others: the models that the other workers have.
        """
        left = [name for name, jobs in self._waiting.items() if jobs]
        if not left:
            return None
        holders = Counter(by_others)
        model = held if held in left else max(left, key=lambda name: len(self._waiting[name]) / (1 + holders[name]))
        return self._waiting[model].popleft()

    def put_back(self, lost: Sequence[Job], reason: object) -> None:
        """Take back the jobs of a worker that is lost; the first was under way, so it takes the blame.

        Args:
            lost: none if the worker had not begun.
            reason: how it was lost, as far as is known.

        Raises:
            RobustlibError: that job, or so many workers before they began, were lost `LOSSES` times.
        """
        for job in reversed(lost):
            self._waiting[job.model].appendleft(job)
        what = (
            f"{lost[0].model} on {lost[0].dataset} under {lost[0].condition}" if lost else "A worker that had not begun"
        )
        self._losses[what] += 1
        if self._losses[what] == LOSSES:
            raise RobustlibError(f"{what} was lost {LOSSES} times, with its process. The last time: {reason}")
