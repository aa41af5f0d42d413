"""The models of a run, in memory while there is something to ask them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock

from robustlib.errors import RobustlibError
from robustlib.models.base import Model
from robustlib.sweep.plan import Job, code_hash, load, versions
from robustlib.sweep.profile import ModelChoice


class Replicas:
    """Loads each model for its first job and lets go of it after its last, so that not all need fit in memory."""

    def __init__(self, models: Mapping[str, Model | ModelChoice], jobs: Sequence[Job]) -> None:
        """Take a plan's models, and the jobs to come; each of these is to borrow its model once."""
        self._models = models
        self._left = Counter(job.model for job in jobs)
        self._planned = {job.model: job.identity["model"] for job in jobs}
        self._loaded: dict[str, Model] = {}
        self._lock = Lock()

    @contextmanager
    def borrow(self, name: str) -> Iterator[Model]:
        """Hold a model for a job.

        Raises:
            RobustlibError: it cannot be loaded, or its checkpoint has changed since the plan was made.
        """
        with self._lock:
            if name not in self._loaded:
                model = load(self._models[name])
                if {"name": name, **model.describe()} != self._planned[name]:
                    raise RobustlibError(f"The model {name} has changed since the sweep was planned; run it again.")
                self._loaded[name] = model
            model = self._loaded[name]
        try:
            yield model
        finally:
            with self._lock:
                self._left[name] -= 1
                if not self._left[name]:
                    del self._loaded[name]


def check_as_planned(job: Job, model: Model, place: str) -> None:
    """See that a model, and the code and the libraries of this process, are those that the job's identity names.

    Args:
        job: a job of a plan that was made in another process.
        model: its model, as it was loaded here.
        place: where "here" is, for the message.

    Raises:
        RobustlibError: they are not; the message says what differs.
    """
    found = {"model": {"name": job.model, **model.describe()}, "versions": versions(), "code": {"hash": code_hash()}}
    planned = {**job.identity, "code": {"hash": job.identity["code"]}}
    for part, values in found.items():
        for key in sorted(values.keys() | planned[part].keys()):
            here, there = values.get(key), planned[part].get(key)
            if here != there:
                raise RobustlibError(
                    f"On {place}, the {key} ({part}) for {job.model} is {here!r}, but the sweep was planned with "
                    f"{there!r}. All machines of a sweep need the same checkpoints, libraries, code and kind of device."
                )
