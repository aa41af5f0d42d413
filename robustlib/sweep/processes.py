"""Shards in processes of this machine: small networks keep the interpreter too busy for threads to share it."""

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from threading import Thread

from loky.process_executor import ProcessPoolExecutor, TerminatedWorkerError

from robustlib.errors import RobustlibError
from robustlib.sweep.asking import free_memory
from robustlib.sweep.plan import Job, Plan
from robustlib.sweep.replicas import Replica
from robustlib.sweep.threads import Made, in_pool

_replicas: list[Replica] = []  # of such a process: its one


def in_processes(plan: Plan, jobs: Sequence[Job], workers: int) -> Made[tuple[Job, bytes]]:
    """Make shards, each process with one model in memory at a time.

    Args:
        plan: what the jobs belong to; its models are choices, which every process loads by itself.
        jobs: those to run, those of a model together.
        workers: number of processes.

    Raises:
        RobustlibError: a job failed, or a process was lost.
    """
    free_memory()  # planning has loaded every model here, perhaps on a GPU that the processes are to have
    pool = ProcessPoolExecutor(
        workers,
        initializer=_start,
        initargs=(replace(plan, jobs=()), os.getpid()),
        env={"LOKY_MAX_MEMORY_LEAK_SIZE": "1e18"},  # bytes; a larger model that is taken up is no leak
    )
    try:
        yield from in_pool(pool, _make, jobs)
    except TerminatedWorkerError as error:
        raise RobustlibError(
            "A process of the sweep was ended from outside, perhaps for lack of memory. Run the sweep again, with "
            f"fewer workers if that was why. ({str(error).splitlines()[0]})"
        ) from error


def _start(plan: Plan, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    Thread(target=_end_with, args=(parent,), daemon=True).start()
    _replicas[:] = [Replica(plan, plan.models, lambda model: model)]


def _end_with(parent: int) -> None:
    """End this process soon after the one that started it, which may have been killed."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _make(job: Job) -> tuple[Job, bytes]:
    return job, _replicas[0].make(job)
