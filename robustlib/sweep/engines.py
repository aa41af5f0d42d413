"""Engines: where the jobs of a sweep run. They differ in speed alone; the same shards come out.

An engine is one function: it makes the shard of every job and yields the bytes as they come. A new engine is one file
and one row in `ENGINES`.
"""

import sys
from collections.abc import Callable, Generator, Sequence
from importlib import import_module
from typing import cast

from robustlib.errors import UnknownNameError
from robustlib.sweep.plan import Job, Plan
from robustlib.sweep.replicas import Replicas
from robustlib.sweep.shards import make_shard
from robustlib.sweep.threads import in_threads

# (plan, jobs of it, workers or None) -> each job with its shard, in any order. An error of a job ends the run: jobs
# that have not begun are dropped and the error is raised; `run_local` yields those under way before that.
Made = Generator[tuple[Job, bytes], None, None]
Engine = Callable[[Plan, Sequence[Job], int | None], Made]

ENGINES = {"local": "robustlib.sweep.engines:run_local", "ray": "robustlib.sweep.ray_engine:run_ray"}


def find_engine(name: str) -> Engine:
    """Return an engine by name.

    Raises:
        UnknownNameError: no engine has this name.
    """
    if name not in ENGINES:
        raise UnknownNameError("engine", name, ENGINES)
    module, function = ENGINES[name].split(":")
    return cast(Engine, getattr(import_module(module), function))


def run_local(plan: Plan, jobs: Sequence[Job], workers: int | None) -> Made:
    """Make shards in this process, a job a thread, model after model.

    Args:
        plan: what the jobs belong to.
        jobs: those to run.
        workers: number of threads; None for one per core, or for two where networks compute on a GPU.
    """
    order = list(plan.models)
    by_model = sorted(jobs, key=lambda job: order.index(job.model))
    replicas = Replicas(plan.models, by_model)

    def run(job: Job) -> tuple[Job, bytes]:
        with replicas.borrow(job.model) as model:
            return job, make_shard(plan, job, model)

    return in_threads(run, by_model, workers or _workers())


def _workers() -> int | None:
    """Return the usual number of threads, None for one per core.

    On a GPU each has a batch in its memory: with two, one reads what the other's network has left.
    """
    torch = sys.modules.get("torch")  # models that use it have been planned, and so loaded, by now
    return 2 if torch and torch.cuda.is_available() else None
