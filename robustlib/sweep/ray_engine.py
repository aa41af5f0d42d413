"""The engine `ray`: the jobs of a sweep on a Ray cluster. Nothing else knows Ray.

An actor has one model in memory at a time. On a cluster with GPUs it has a GPU for itself, else a core; where more
workers are asked for than there are GPUs (or cores), they share these evenly.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from math import ceil, floor
from typing import Any

from robustlib.errors import RobustlibError
from robustlib.models.base import Model
from robustlib.sweep.asking import free_memory
from robustlib.sweep.job_queue import JobQueue
from robustlib.sweep.plan import Job, Plan, load
from robustlib.sweep.replicas import check_as_planned
from robustlib.sweep.shards import make_shard
from robustlib.sweep.threads import in_threads

try:
    import ray
    from ray.exceptions import RayError, RayTaskError
except ImportError as missing:
    raise RobustlibError(f'The engine ray needs Ray ({missing}): pip install "robustlib[cluster]"') from missing

AT_A_TIME = 2
"""Jobs that an actor has been given, so that it need not wait for the next one."""


def run_ray(plan: Plan, jobs: Sequence[Job], workers: int | None) -> Iterator[tuple[Job, bytes]]:
    """Make shards on the cluster that this process is connected to, else on that of RAY_ADDRESS or of this machine.

    Where there is none, one is started on this machine, and stopped in the end. An actor that is lost, with its process
    or its machine, is replaced, and its jobs are done again.

    Args:
        plan: what the jobs belong to. Its questions go to each machine once; models and images that are files must lie
            there under the same path.
        jobs: those to run.
        workers: number of actors; None for one per GPU of the cluster, or per core where it has none.

    Raises:
        RobustlibError: a job failed or was lost three times, actors do not start, a model on another machine is not
            as planned or cannot go there, or the cluster cannot be reached.
    """
    if jobs:
        with _cluster():
            yield from _run(plan, jobs, workers)


class Replica:
    """What runs in an actor."""

    def __init__(self, plan: Plan, models: Mapping[str, Any]) -> None:
        """Take the plan without its models, and references to these."""
        self._plan, self._models = plan, models
        self._held: dict[str, Model] = {}

    def make(self, job: Job) -> bytes:
        """Return a job's shard."""
        try:
            if job.model not in self._held:
                self._held.clear()  # there may be no room for two
                free_memory()
                model = load(ray.get(self._models[job.model]))
                check_as_planned(job, model, ray.util.get_node_ip_address())
                self._held[job.model] = model
            work = partial(make_shard, self._plan, model=self._held[job.model])
            (shard,) = in_threads(work, [job], 1)  # torch computes as it does for the engine `local`
        except RobustlibError as error:
            raise RobustlibError(str(error)) from None  # its own class need not survive the journey
        return shard


class _Actor:
    def __init__(self, remote: Any, *sent: Any) -> None:
        self.handle = remote.remote(*sent)
        self.model = ""
        # by the reference to what comes of it, the one under way first; None is the actor's own start
        self.pending: dict[Any, Job | None] = {self.handle.__ray_ready__.remote(): None}

    def feed(self, queue: JobQueue, others: Sequence["_Actor"]) -> None:
        """Give jobs to the actor if it has started and has fewer than it may have."""
        while None not in self.pending.values() and len(self.pending) < AT_A_TIME:
            job = queue.take(self.model, [other.model for other in others if other is not self])
            if job is None:
                return
            self.model = job.model
            self.pending[self.handle.make.remote(job)] = job


def _run(plan: Plan, jobs: Sequence[Job], workers: int | None) -> Iterator[tuple[Job, bytes]]:
    free_memory()  # planning has loaded every model here, perhaps on a GPU that an actor is to have
    count, share = _shares(workers, len(jobs))
    start = partial(_Actor, ray.remote(**share)(Replica), *_send(plan))
    actors, queue, left = [start() for _ in range(count)], JobQueue(jobs), len(jobs)
    try:
        while left:
            owners = {reference: actor for actor in actors for reference in actor.pending}
            (reference,), _ = ray.wait(list(owners), num_returns=1)
            actor, job, made = owners[reference], None, b""
            try:
                made = ray.get(reference)
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
                yield job, made
    finally:
        for actor in actors:
            ray.kill(actor.handle)


def _shares(workers: int | None, jobs: int) -> tuple[int, dict[str, float]]:
    """Return the number of actors, and what each of them has of the cluster."""
    resources = ray.cluster_resources()
    gpus = int(resources.get("GPU", 0))
    places = gpus or int(resources.get("CPU", 0)) or 1
    count = min(workers or places, jobs)
    share = floor(1e4 / ceil(count / places)) / 1e4  # Ray counts in such steps
    return count, {"num_gpus": share, "num_cpus": 0} if gpus else {"num_cpus": share}


def _send(plan: Plan) -> tuple[Any, dict[str, Any]]:
    """Put the plan without its models, and each of these, where every machine can get it."""
    try:
        models = {name: ray.put(model) for name, model in plan.models.items()}
        return ray.put(replace(plan, models={}, jobs=())), models
    except TypeError as error:
        raise RobustlibError(f"A model or data set cannot be pickled, to go to other processes: {error}") from error


@contextmanager
def _cluster() -> Iterator[None]:
    """Be connected to a cluster."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:  # what actors print stays in Ray's own logs, as it would tear the progress bar
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="warning")
        yield
    except ConnectionError as error:
        raise RobustlibError(f"Cannot reach the Ray cluster: {error}") from error
    finally:
        ray.shutdown()
