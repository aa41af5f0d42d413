"""Engines: where the tasks of a sweep run. They differ in speed alone; the same shards come out.

An engine is one function: it applies the work to every task and yields the results as they come. A new engine is one
file and one row in `ENGINES`.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib import import_module
from typing import Any, TypeVar, cast

from robustlib.errors import UnknownNameError

Task = TypeVar("Task")
Result = TypeVar("Result")

# (work, tasks, workers or None) -> results in any order. An error of the work ends the run: tasks that have not begun
# are dropped and the error is raised.
Engine = Callable[[Callable[[Task], Result], Sequence[Task], int | None], Iterator[Result]]

ENGINES = {"local": "robustlib.sweep.engines:run_local"}


def find_engine(name: str) -> Engine[Any, Any]:
    """Return an engine by name.

    Raises:
        UnknownNameError: no engine has this name.
    """
    if name not in ENGINES:
        raise UnknownNameError("engine", name, ENGINES)
    module, function = ENGINES[name].split(":")
    return cast(Engine[Any, Any], getattr(import_module(module), function))


def run_local(work: Callable[[Task], Result], tasks: Sequence[Task], workers: int | None) -> Iterator[Result]:
    """Run the tasks on this machine, in threads: torch and numba let go of the interpreter while they compute.

    Args:
        work: what to do with a task.
        tasks: what to do it with.
        workers: number of threads; None for one per core.
    """
    pool = ThreadPoolExecutor(workers or os.cpu_count(), initializer=_compute_in_one_thread)
    try:
        for future in as_completed([pool.submit(work, task) for task in tasks]):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _compute_in_one_thread() -> None:
    """Keep torch to this thread, so that its sums, and so the shards, do not depend on the number of workers.

    Models that use torch have imported it by now; the others should not wait for it.
    """
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
