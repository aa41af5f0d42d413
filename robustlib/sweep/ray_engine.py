"""The engine `ray`: the jobs of a sweep on a Ray cluster. Nothing else knows Ray.

An actor has one model in memory at a time, and a GPU for itself, or a core on a cluster without GPUs. Where there are
more actors than these, they share them evenly.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from logging import WARNING
from math import ceil
from pickle import PicklingError
from typing import Any

from robustlib.errors import RobustlibError
from robustlib.sweep.asking import free_memory
from robustlib.sweep.job_queue import JobQueue
from robustlib.sweep.plan import Job, Plan
from robustlib.sweep.replicas import Replica
from robustlib.sweep.threads import Made

try:
    import ray
    from ray.exceptions import RayError, RayTaskError
except ImportError as missing:
    raise RobustlibError(f'The engine ray needs Ray ({missing}): pip install "robustlib[cluster]"') from missing

AT_A_TIME = 2  # jobs that an actor has, so that it need not wait for the next one


def run_ray(plan: Plan, jobs: Sequence[Job], workers: int | None) -> Made[tuple[Job, bytes]]:
    """Make shards on the cluster that this process is connected to, else on that of RAY_ADDRESS or of this machine.

    Where there is none, one is started on this machine, and stopped in the end. An actor that is lost, with its process
    or its machine, is replaced, and its jobs are done again.

    Args:
        plan: what the jobs belong to. Its questions go to each machine once; files must lie there under the same path.
        jobs: those to run.
        workers: number of actors; None for one per GPU of the cluster, or per core where it has none.

    Raises:
        RobustlibError: a job failed or was lost three times, a model on another machine is not as planned or cannot go
            there, actors do not start, or the cluster cannot be reached.
    """
    if jobs:
        with _cluster():
            yield from _run(plan, jobs, workers)


class _Actor:
    """A process that runs a `Replica`, and what it has been given."""

    def __init__(self, remote: Any, *sent: Any) -> None:
        self.handle = remote.remote(*sent)
        self.model = ""
        # by the reference to what comes of it, the one under way first; None is the actor's own start
        self.pending: dict[Any, Job | None] = {self.handle.__ray_ready__.remote(): None}

    def feed(self, queue: JobQueue, others: Sequence["_Actor"]) -> None:
        """Give jobs to the actor if it has started and has fewer than it may have."""
        held = [other.model for other in others if other is not self]
        while None not in self.pending.values() and len(self.pending) < AT_A_TIME:
            if not (job := queue.take(self.model, held)):
                return
            self.model = job.model
            self.pending[self.handle.make.remote(job)] = job


def _run(plan: Plan, jobs: Sequence[Job], workers: int | None) -> Made[tuple[Job, bytes]]:
    free_memory()  # planning has loaded every model here, perhaps on a GPU that an actor is to have
    count, share = _shares(workers, len(jobs))
    start = partial(_Actor, ray.remote(Replica).options(**share), *_send(plan), ray.get)
    actors, queue, left = [start() for _ in range(count)], JobQueue(jobs), len(jobs)
    try:
        while left:
            owners = {reference: actor for actor in actors for reference in actor.pending}
            (reference,), _ = ray.wait(list(owners), num_returns=1)
            actor, job = owners[reference], None
            try:
                shard = ray.get(reference)
                job = actor.pending.pop(reference)
            except RayTaskError as error:
                raise (error.cause if isinstance(error.cause, RobustlibError) else error) from None
            except RayError as error:
                ray.kill(actor.handle)
                queue.put_back([lost for lost in actor.pending.values() if lost], error)
                actors[actors.index(actor)] = start()
            for each in actors:
                each.feed(queue, actors)
            if job:
                left -= 1
                yield job, shard
    finally:
        for actor in actors:
            ray.kill(actor.handle)


def _shares(workers: int | None, jobs: int) -> tuple[int, dict[str, float]]:
    """Return the number of actors, and what each of them has of the cluster."""
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]  # Ray has no type for it
    gpus = int(resources.get("GPU", 0))
    places = gpus or int(resources.get("CPU", 0)) or 1
    count = min(workers or places, jobs)
    share = 1e4 // ceil(count / places) / 1e4  # Ray counts in such steps
    return count, {"num_gpus": share, "num_cpus": 0} if gpus else {"num_cpus": share}


def _send(plan: Plan) -> tuple[Any, dict[str, Any]]:
    """Put the plan without its models, and each of these, where every machine can get it."""
    try:
        return ray.put(replace(plan, models={}, jobs=())), {name: ray.put(one) for name, one in plan.models.items()}
    except (AttributeError, PicklingError, TypeError) as error:
        raise RobustlibError(f"A model or data set cannot be pickled, to go to other processes: {error}") from error


@contextmanager
def _cluster() -> Iterator[None]:
    """Be connected to a cluster."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:  # what actors print stays in Ray's own logs, as it would tear the progress bar
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=WARNING)
    except (ConnectionError, RayError) as error:
        raise RobustlibError(f"Cannot reach the Ray cluster: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()
