"""Work in threads: torch and numba let go of the interpreter while they compute."""

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")
Made = Generator[Result, None, None]


def in_threads(work: Callable[[Task], Result], tasks: Sequence[Task], workers: int | None) -> Made[Result]:
    """Apply the work to every task in threads; see `in_pool`.

    Args:
        work: what to do with a task.
        tasks: what to do it with.
        workers: number of threads; None for one per core.
    """
    return in_pool(ThreadPoolExecutor(workers or os.cpu_count(), initializer=_compute_in_one_thread), work, tasks)


def in_pool(pool: Executor, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Made[Result]:
    """Apply the work to every task in a pool, yield the results as they come, and shut the pool down.

    An error of the work is raised here, once the tasks under way are done and their results yielded; tasks that have
    not begun by then are dropped.
    """
    left: set[Future[Result]] = set()
    try:
        left.update(pool.submit(work, task) for task in tasks)
        for future in as_completed(left):
            left.discard(future)  # results are not kept
            if failure := future.exception():
                break
            yield future.result()
        else:
            return
        under_way = [other for other in left if not other.cancel()]  # a broken pool never tells of those cancelled
        yield from (other.result() for other in under_way if not other.exception())
        raise failure
    finally:
        _cancel(left)
        pool.shutdown()


def ahead(made: Iterator[Result]) -> Iterator[Result]:
    """Yield what an iterator makes, anything but None; while one is in use, the next is made in another thread."""
    with ThreadPoolExecutor(1, initializer=_compute_in_one_thread) as pool:
        coming = pool.submit(next, made, None)
        while (ready := coming.result()) is not None:
            coming = pool.submit(next, made, None)
            yield ready


def _cancel(futures: Iterable[Future[Any]]) -> None:
    for future in futures:
        future.cancel()


def _compute_in_one_thread() -> None:
    """Keep torch to this thread, so that its sums, and so the shards, do not depend on the number of workers.

    Models that use torch have imported it by now; the others should not wait for it.
    """
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
