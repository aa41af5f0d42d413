"""How far a sweep has come: counts, who is writing, and the rate by hand."""

import fcntl
import os
from pathlib import Path

import pytest

from robustlib.sweep import run_sweep, status, sweep_status
from robustlib.sweep.lock import exclusive
from robustlib.sweep.store import count_statuses
from tests.sweep.toys import contents, toy_plan

BEGAN = 1_000_000


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A sweep of 14 shards; its run began at `BEGAN`, and each shard was written ten seconds after the one before."""
    run_sweep(toy_plan(), tmp_path)
    os.utime(tmp_path / "lock", (BEGAN, BEGAN))
    for place, path in enumerate(shards_of(tmp_path), 1):
        os.utime(path, (BEGAN + 10 * place, BEGAN + 10 * place))
    return tmp_path


def shards_of(out: Path) -> list[Path]:
    return sorted(out.rglob("*.parquet"))


def test_the_rate_counts_from_the_beginning_of_the_run(out: Path) -> None:
    found = sweep_status(out)
    assert (found.shards_per_minute, found.seconds_left, found.process) == (6, 0, "")
    os.utime(out / "lock", (BEGAN + 100, BEGAN + 100))
    assert sweep_status(out).shards_per_minute == 6, "the last five shards of a run that went on after a break"
    os.utime(out / "lock", (BEGAN + 110, BEGAN + 110))
    for path in shards_of(out)[11:]:
        os.utime(path, (BEGAN + 115, BEGAN + 115))
    assert sweep_status(out).shards_per_minute == 3 * 12


def test_the_rate_is_that_of_the_last_shards(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "RECENT", 4)
    os.utime(shards_of(out)[-1], (BEGAN + 160, BEGAN + 160))
    assert sweep_status(out).shards_per_minute == 4, "in the minute after the fifth last"


def test_what_remains_takes_its_time_at_this_rate(out: Path) -> None:
    for path in shards_of(out)[-3:]:
        path.unlink()
    found = sweep_status(out)
    assert (found.done, found.remaining, found.shards_per_minute, found.seconds_left) == (11, 3, 6, 30)


@pytest.mark.parametrize("began", [BEGAN + 140, BEGAN + 1000, None])
def test_before_its_first_shard_a_run_has_no_rate(out: Path, began: int | None) -> None:
    lock = out / "lock"
    lock.unlink() if began is None else os.utime(lock, (began, began))
    shards_of(out)[0].unlink()
    found = sweep_status(out)
    assert (found.shards_per_minute, found.seconds_left, found.remaining) == (None, None, 1)


def test_a_damaged_shard_does_not_count_for_the_rate(out: Path) -> None:
    last = shards_of(out)[-1]
    last.write_bytes(b"damaged")  # just now
    found = sweep_status(out)
    assert (found.damaged, found.shards_per_minute, found.seconds_left) == ((last,), 6, 10)


def test_who_is_writing_is_told(out: Path) -> None:
    with exclusive(out):
        found = sweep_status(out)
        assert found.process.startswith(f"process {os.getpid()} on ")
        assert found.seconds_left is None, "failed shards may be made again"
    assert sweep_status(out).process == ""


def test_a_shard_that_vanishes_remains_and_is_not_damaged(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = shards_of(out)[5]

    def count(path: Path) -> dict[str, int]:
        gone.unlink(missing_ok=True)
        return count_statuses(path)

    monkeypatch.setattr(status, "count_statuses", count)
    found = sweep_status(out)
    assert (found.done, found.remaining, found.damaged) == (13, 1, ())


def test_looking_changes_nothing(out: Path) -> None:
    before, times = contents(out), {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    sweep_status(out)
    assert contents(out) == before
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == times


def test_a_sweep_that_starts_while_somebody_looks_is_not_refused(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (out / "lock").open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        monkeypatch.setattr("robustlib.sweep.lock.sleep", lambda wait: looking.close() if wait else None)
        with exclusive(out):
            pass
