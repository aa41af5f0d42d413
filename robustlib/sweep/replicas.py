"""The models of a run, in memory while there is something to ask them."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from socket import gethostname
from threading import Lock
from typing import Any

from robustlib.errors import RobustlibError
from robustlib.models.base import Model
from robustlib.sweep.asking import free_memory
from robustlib.sweep.plan import Job, Plan, code_hash, load, versions
from robustlib.sweep.profile import ModelChoice
from robustlib.sweep.shards import make_shard
from robustlib.sweep.threads import in_threads


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


class Replica:
    """Makes shards in a process of its own, with one model in memory at a time."""

    def __init__(self, plan: Plan, models: Mapping[str, Any], fetch: Callable[[Any], Model | ModelChoice]) -> None:
        """Take a plan without its models.

        Args:
            plan: gives the questions and the profile.
            models: by name, what stands for each of the plan's models.
            fetch: brings what that is.
        """
        self._plan, self._models, self._fetch = plan, models, fetch
        self._held: dict[str, Model] = {}

    def make(self, job: Job) -> bytes:
        """Return a job's shard.

        Raises:
            RobustlibError: see `make_shard` and `check_as_planned`, or the model cannot be loaded.
        """
        try:
            if job.model not in self._held:
                self._take_up(job)
            work = partial(make_shard, self._plan, model=self._held[job.model])
            (shard,) = in_threads(work, [job], 1)  # torch computes as it does for the engine `local`
        except RobustlibError as error:
            raise RobustlibError(str(error)) from None  # which can be pickled, as not all that are derived from it can
        return shard

    def _take_up(self, job: Job) -> None:
        self._held.clear()  # there may be no room for two
        free_memory()
        model = load(self._fetch(self._models[job.model]))
        check_as_planned(job, model, gethostname())
        self._held[job.model] = model


def check_as_planned(job: Job, model: Model, place: str) -> None:
    """See that a model, and the code and the libraries of this process, are those that the job's identity names.

    Args:
        job: a job of a plan that was made in another process.
        model: its model, as it was loaded here.
        place: where "here" is, for the message.

    Raises:
        RobustlibError: they are not; the message says what differs.
    """
    found: dict[str, Mapping[str, object]] = {
        "model": {"name": job.model, **model.describe()},
        "versions": versions(),
        "code": {"hash": code_hash()},
    }
    planned = {**job.identity, "code": {"hash": job.identity["code"]}}
    for part, values in found.items():
        for key in sorted(values.keys() | planned[part].keys()):
            here, there = values.get(key), planned[part].get(key)
            if here != there:
                raise RobustlibError(
                    f"On {place}, the {key} ({part}) for {job.model} is {here!r}, but the sweep was planned with "
                    f"{there!r}. All machines of a sweep need the same checkpoints, libraries, code and kind of device."
                )
