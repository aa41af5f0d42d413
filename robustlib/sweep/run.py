"""Run a plan: what the output folder lacks is made, what it has is kept."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby, islice
from pathlib import Path

from tqdm import tqdm

from robustlib.errors import InvalidValueError
from robustlib.models.base import Answer, Prompt
from robustlib.sweep.asking import ask
from robustlib.sweep.conditions import Condition, Item, items_of
from robustlib.sweep.engines import Engine, find_engine
from robustlib.sweep.lock import exclusive
from robustlib.sweep.manifest import make_manifest, raise_on_failed_answers
from robustlib.sweep.plan import Job, Plan, make_plan
from robustlib.sweep.profile import Profile
from robustlib.sweep.profile_files import load_profile
from robustlib.sweep.rows import make_rows
from robustlib.sweep.showing import prompts_by_picture
from robustlib.sweep.store import MANIFEST, PLAN, StoreError, read_identity, write_record, write_shard


@dataclass(frozen=True)
class Task:
    """The missing jobs of one data set and condition: questions and images are made once, for every model."""

    dataset: str
    condition: Condition
    jobs: tuple[Job, ...]


def run_sweep(
    profile_or_plan: str | Profile | Plan, out: str | Path, engine: str = "local", workers: int | None = None
) -> Path:
    """Ask every question of a plan under every condition and write the answers.

    There is one shard for each data set, condition and model. Shards that are there already are kept, so an interrupted
    sweep continues where it stopped and ends with the same bytes. The manifest is written last.

    Args:
        profile_or_plan: a profile's name or file, a profile, or a plan.
        out: the output folder.
        engine: a key of `robustlib.sweep.engines.ENGINES`.
        workers: how many tasks run at a time; None for one per core. The shards do not depend on it.

    Returns:
        The path of the manifest.

    Raises:
        UnknownNameError, InvalidValueError: no such profile or engine, less than one worker.
        FailedAnswersError: the sweep is whole and its manifest written, but some answers have the status "error".
        RobustlibError: the plan cannot be made, an image cannot be read, or another sweep is using the folder.
        OSError: the folder cannot be written.
    """
    if workers is not None and workers < 1:
        raise InvalidValueError(f"workers must be at least 1, got {workers}.")
    run = find_engine(engine)
    folder = Path(out)
    plan = _as_plan(profile_or_plan, folder)
    with exclusive(folder):
        _remove_leftovers(folder)
        _make_missing_shards(plan, folder, run, workers)
        manifest = write_record(folder / MANIFEST, make_manifest(plan, folder))
    raise_on_failed_answers(folder)
    return manifest


def _as_plan(profile_or_plan: str | Profile | Plan, out: Path) -> Plan:
    if isinstance(profile_or_plan, Plan):
        return profile_or_plan
    return make_plan(profile_or_plan if isinstance(profile_or_plan, Profile) else load_profile(profile_or_plan), out)


def _remove_leftovers(out: Path) -> None:
    """Remove the temporary files of a run that was killed; the lock says that no other run is writing."""
    for leftover in out.rglob(".*.tmp"):
        leftover.unlink()


def _make_missing_shards(plan: Plan, out: Path, run: Engine[Task, int], workers: int | None) -> None:
    tasks = _missing_tasks(plan, out)
    if tasks:
        (out / MANIFEST).unlink(missing_ok=True)
    shards = [job.path.as_posix() for job in plan.jobs]
    write_record(out / PLAN, {"profile": asdict(plan.profile), "shards": shards})
    done = len(shards) - sum(len(task.jobs) for task in tasks)
    with tqdm(desc=plan.profile.name, total=len(shards), initial=done, unit="shard") as bar:
        for made in run(partial(_run_task, plan, out), tasks, workers):
            bar.update(made)


def _missing_tasks(plan: Plan, out: Path) -> list[Task]:
    missing = [job for job in plan.jobs if not _is_done(out, job)]
    groups = groupby(missing, key=lambda job: (job.dataset, job.condition))
    return [Task(dataset, condition, tuple(jobs)) for (dataset, condition), jobs in groups]


def _is_done(out: Path, job: Job) -> bool:
    path = out / job.path
    if not path.exists():
        return False
    try:
        return read_identity(path) == job.identity
    except StoreError as error:
        tqdm.write(f"{error} It is made again now.", file=sys.stderr)
        return False


def _run_task(plan: Plan, out: Path, task: Task) -> int:
    """Write the shards of a task; return how many."""
    dataset, profile = plan.datasets[task.dataset], plan.profile
    items = items_of(dataset.questions, task.condition, profile.base_seed, profile.seeding)
    answers: dict[str, dict[int, Answer]] = {job.model: {} for job in task.jobs}
    for places, prompts in _batches(items, profile.batch_size):
        for name, given in answers.items():
            given.update(zip(places, ask(plan.models[name], prompts), strict=True))
    for job in task.jobs:
        in_order = [answers[job.model][place] for place in range(len(items))]
        write_shard(out / job.path, make_rows(job.model, dataset, items, in_order, profile.scoring), job.identity)
    return len(task.jobs)


def _batches(items: Sequence[Item], size: int) -> Iterator[tuple[list[int], list[Prompt]]]:
    """Yield places and prompts in fixed batches, so that a batch never depends on what was done before."""
    prompts = prompts_by_picture(items)
    while batch := list(islice(prompts, size)):
        yield [place for place, _ in batch], [prompt for _, prompt in batch]
