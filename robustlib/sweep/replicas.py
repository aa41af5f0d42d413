"""The models of a run, in memory while there is something to ask them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock

from robustlib.models.base import Model
from robustlib.sweep.plan import Job, load
from robustlib.sweep.profile import ModelChoice


class Replicas:
    """Loads each model for its first job and lets go of it after its last, so that not all need fit in memory."""

    def __init__(self, models: Mapping[str, Model | ModelChoice], jobs: Sequence[Job]) -> None:
        """Take a plan's models, and the jobs to come; each of these is to borrow its model once."""
        self._models = models
        self._left = Counter(job.model for job in jobs)
        self._loaded: dict[str, Model] = {}
        self._lock = Lock()

    @contextmanager
    def borrow(self, name: str) -> Iterator[Model]:
        """Hold a model for a job.

        Raises:
            RobustlibError: it cannot be loaded.
        """
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = load(self._models[name])
            model = self._loaded[name]
        try:
            yield model
        finally:
            with self._lock:
                self._left[name] -= 1
                if not self._left[name]:
                    del self._loaded[name]
