"""Engines: where the jobs of a sweep run. They differ in speed alone; the same shards come out.

An engine is one function: it makes the shard of every job and yields the bytes as they come. A new engine is one file
and one row in `ENGINES`.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import cast

from robustlib.corruptions.catalogue import CUSTOM
from robustlib.errors import UnknownNameError
from robustlib.sweep.plan import Job, Plan
from robustlib.sweep.processes import in_processes
from robustlib.sweep.profile import ModelChoice
from robustlib.sweep.replicas import Replicas
from robustlib.sweep.shards import make_shard
from robustlib.sweep.threads import Made, in_threads

# (plan, jobs of it, workers or None) -> each job with its shard, in any order. An error of a job ends the run: jobs
# that have not begun are dropped and the error is raised; `run_local` yields those under way before that.
Engine = Callable[[Plan, Sequence[Job], int | None], Made[tuple[Job, bytes]]]

QUESTIONS_A_PROCESS = 2000
"""A process takes about as long to start as to answer so many questions by a small model."""
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


def run_local(plan: Plan, jobs: Sequence[Job], workers: int | None) -> Made[tuple[Job, bytes]]:
    """Make shards on this machine, model after model.

    A profile's models are loaded by processes, a model each at a time; where there is too little to ask for that to
    pay, or one worker, all happens in this process. So it does, in threads, where no other process could know a model
    or a corruption.

    Args:
        plan: what the jobs belong to.
        jobs: those to run.
        workers: number of processes, or threads, but no more than jobs; None for `usual_workers`.
    """
    order = list(plan.models)
    by_model = sorted(jobs, key=lambda job: order.index(job.model))
    count = min(workers or usual_workers(sum(len(plan.datasets[job.dataset]) for job in jobs)), len(jobs))
    if count > 1 and not _known_here_alone(plan):
        return in_processes(plan, by_model, count)
    replicas = Replicas(plan.models, by_model)

    def run(job: Job) -> tuple[Job, bytes]:
        with replicas.borrow(job.model) as model:
            return job, make_shard(plan, job, model)

    return in_threads(run, by_model, count)


def _known_here_alone(plan: Plan) -> bool:
    """Return whether a model was given as an object, or a corruption was added in this process."""
    operations = [operation for job in plan.jobs for operation in job.identity["condition"]["operations"]]
    return not all(isinstance(model, ModelChoice) for model in plan.models.values()) or any(
        operation["name"].startswith(f"{CUSTOM}/") for operation in operations
    )


def usual_workers(questions: int) -> int:
    """Return how many workers so many questions are worth: at most one per core, and one where there is a GPU."""
    torch = sys.modules.get("torch")  # models that use it have been loaded by now
    if torch and torch.cuda.is_available():
        return 1
    return max(1, min(os.cpu_count() or 1, questions // QUESTIONS_A_PROCESS))
