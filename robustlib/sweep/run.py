"""Run a plan: what the output folder lacks is made, what it has is kept."""

import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

from robustlib.errors import InvalidValueError
from robustlib.files import write_atomically
from robustlib.sweep.engines import Engine, find_engine
from robustlib.sweep.lock import exclusive
from robustlib.sweep.manifest import make_manifest, raise_on_failed_answers
from robustlib.sweep.plan import Job, Plan, make_plan
from robustlib.sweep.profile import Profile
from robustlib.sweep.profile_files import load_profile
from robustlib.sweep.store import MANIFEST, PLAN, StoreError, count_statuses, read_identity, write_record


def run_sweep(
    profile_or_plan: str | Profile | Plan,
    out: str | Path,
    engine: str = "local",
    workers: int | None = None,
    retry_failed: bool = False,
) -> Path:
    """Ask every question of a plan under every condition and write the answers.

    There is one shard for each data set, condition and model. Shards that are there already are kept, so an interrupted
    sweep continues where it stopped and ends with the same bytes. The manifest is written last.

    * A shard that is damaged is made again.
    * A shard with failed answers is kept, unless it is asked to be retried. Then the whole of it is made again, as only
      the same batches are sure to give the same bytes; the old one stays until the new one takes its place.
    * What stops a sweep, be it an error, a signal or the machine, costs the shards under way and nothing else. Where a
      shard cannot be made, the engine "local" finishes and keeps those under way before it stops.

    Args:
        profile_or_plan: a profile's name or file, a profile, or a plan.
        out: the output folder.
        engine: a key of `robustlib.sweep.engines.ENGINES`.
        workers: how many shards are made at a time; None for the engine's usual number. The shards do not depend on it.
        retry_failed: whether to ask again where an answer has the status "error".

    Returns:
        The path of the manifest.

    Raises:
        UnknownNameError, InvalidValueError: no such profile or engine, less than one worker.
        FailedAnswersError: the sweep is whole and its manifest written, but some answers have the status "error".
        RobustlibError: the plan cannot be made, an image cannot be read, or another sweep is using the folder.
        OSError: the folder cannot be written, or the disk is full.
    """
    if workers is not None and workers < 1:
        raise InvalidValueError(f"workers must be at least 1, got {workers}.")
    run = find_engine(engine)
    folder = Path(out)
    plan = _as_plan(profile_or_plan, folder)
    with exclusive(folder):
        _remove_leftovers(folder)
        _make_missing_shards(plan, folder, run, workers, retry_failed)
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
        leftover.unlink(missing_ok=True)


def _make_missing_shards(plan: Plan, out: Path, run: Engine, workers: int | None, retry_failed: bool) -> None:
    shards = [job.path.as_posix() for job in plan.jobs]
    write_record(out / PLAN, {"profile": asdict(plan.profile), "batch_sizes": plan.batch_sizes, "shards": shards})
    missing = [job for job in plan.jobs if not _is_done(out, job, retry_failed)]
    if missing:
        (out / MANIFEST).unlink(missing_ok=True)
    done = len(shards) - len(missing)
    bar = tqdm(desc=plan.profile.name, total=len(shards), initial=done, unit="shard")
    with bar, closing(run(plan, missing, workers)) as made:
        for job, shard in made:
            write_atomically(out / job.path, shard)
            bar.update()


def _is_done(out: Path, job: Job, retry_failed: bool) -> bool:
    path = out / job.path
    if not path.exists():
        return False
    try:
        return read_identity(path) == job.identity and not (retry_failed and "error" in count_statuses(path))
    except StoreError as error:
        tqdm.write(f"{error} It is made again now.", file=sys.stderr)
        return False
