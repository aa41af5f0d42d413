"""What befalls a sweep, and how it ends: nothing is lost, and the next run ends in the bytes of one undisturbed."""

import os
import random
import resource
import shutil
import signal
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from robustlib.__main__ import main
from robustlib.errors import RobustlibError
from robustlib.sweep import CLEAN, read_predictions, run_sweep, sweep_status
from tests.sweep.children import Study, command, long_plan, shards_in, start, sweep, wait_for_a_shard
from tests.sweep.toys import PixelModel, contents, toy_plan


def test_fifty_kills_at_random_moments_end_in_the_same_bytes(tmp_path: Path) -> None:
    out, undisturbed = tmp_path / "killed", tmp_path / "whole"
    run_sweep(long_plan(), undisturbed)
    start(int).join()  # the server that forks has to start, too
    begun = time.monotonic()
    first = start(sweep, long_plan(0.02), out)
    wait_for_a_shard(first, out)
    life = 2 * (time.monotonic() - begun)  # so that half of them die before their first shard
    first.kill()
    first.join()
    chance, kills, found = random.Random(8), 1, set()
    while kills < 50:
        process = start(sweep, long_plan(0.02), out)
        time.sleep(chance.uniform(0, life))
        process.kill()
        process.join()
        if process.exitcode == 0:  # too late; from the beginning again
            assert contents(out) == contents(undisturbed)
            shutil.rmtree(out)
            continue
        assert process.exitcode == -signal.SIGKILL
        kills += 1
        found.add(len(shards_in(out)))
    assert len(found) > 3
    with pytest.raises(RobustlibError, match="no finished sweep"):
        read_predictions(out)
    (out / "shards" / ".half-written.parquet.abc.tmp").write_bytes(b"PAR1")
    run_sweep(long_plan(), out)
    assert contents(out) == contents(undisturbed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_a_sweep_at_once_and_it_goes_on(
    number: signal.Signals, study: Study, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    out, told = tmp_path / "out", tmp_path / "told"
    study.befall(after=7, then="hang")
    process = start(command, study.sweep(out), told)
    wait_for_a_shard(process, out)
    assert process.pid
    os.kill(process.pid, number)
    process.join()
    assert process.exitcode == -number
    assert told.read_text().splitlines()[-1] == "robustlib: interrupted; the same command goes on from here"
    assert "Traceback" not in told.read_text()
    kept = {path: path.stat().st_mtime_ns for path in shards_in(out)}
    study.befall()
    assert main(study.sweep(out)) == 0
    assert contents(out) == undisturbed
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_a_second_sweep_on_one_folder_is_refused_and_the_first_is_not_disturbed(
    study: Study, undisturbed: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    study.befall(after=7, then="hang")
    process = start(command, study.sweep(out), tmp_path / "told")
    wait_for_a_shard(process, out)
    assert sweep_status(out).process.startswith(f"process {process.pid} on ")
    study.befall()
    kept = {path: path.read_bytes() for path in shards_in(out)}
    assert main(study.sweep(out)) == 2
    assert f"Another sweep is writing to {out} (process {process.pid} on " in capsys.readouterr().err
    assert process.is_alive()
    assert {path: path.read_bytes() for path in kept} == kept
    process.kill()
    process.join()
    assert main(study.sweep(out)) == 0
    assert contents(out) == undisturbed


def test_a_full_disk_is_told_and_the_sweep_goes_on_when_there_is_room(
    study: Study, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    out, told = tmp_path / "out", tmp_path / "told"
    study.befall(after=12, then="full disk", out=str(out))
    process = start(command, study.sweep(out), told)
    process.join()
    assert process.exitcode == 2
    last = told.read_text().splitlines()[-1]
    assert last.startswith("robustlib: [Errno")
    assert last.endswith(".parquet'")
    assert str(out) in last
    assert "Traceback" not in told.read_text()
    left = contents(out)
    assert 1 < len(left) < len(undisturbed)
    assert left == {name: undisturbed[name] for name in left}, "what is there is whole, and nothing else is"
    assert "manifest.json" not in left
    study.befall()
    assert main(study.sweep(out)) == 0
    assert contents(out) == undisturbed


def test_a_folder_that_is_only_for_reading_is_refused_before_a_question_and_can_be_read(tmp_path: Path) -> None:
    run_sweep(toy_plan(), tmp_path / "out")
    for path in [tmp_path / "out", *(tmp_path / "out").rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    process = start(read_only, tmp_path / "out")
    process.join()
    assert process.exitcode == 0


def read_only(out: Path) -> None:
    os.chdir(out)
    if os.getuid() == 0:  # root may write anywhere
        os.setuid(65534)
    models = PixelModel("toy/mean"), PixelModel("toy/corner")
    with pytest.raises(PermissionError, match="'lock'"):
        run_sweep(toy_plan(mean=models[0], corner=models[1]), ".")
    assert models[0].batches == models[1].batches == []
    assert sweep_status(".").done == 14
    assert len(read_predictions(".")) == 154


@pytest.mark.parametrize("name", ["a shard", "plan.json", "manifest.json"])
@pytest.mark.parametrize("damage", [b"", b"PAR1", b"[1]", b'{"rows": 0}', None])
def test_whatever_is_damaged_is_made_again(name: str, damage: bytes | None, tmp_path: Path) -> None:
    run_sweep(toy_plan(conditions=[CLEAN]), tmp_path)
    before = contents(tmp_path)
    path = min(shards_in(tmp_path)) if name == "a shard" else tmp_path / name
    path.write_bytes(path.read_bytes()[:-50] if damage is None else damage)
    for read in (sweep_status, read_predictions):
        if (read, name) in {
            (sweep_status, "plan.json"),
            (read_predictions, "manifest.json"),
            (read_predictions, "a shard"),
        }:
            with pytest.raises(RobustlibError, match=path.name):
                read(tmp_path)
        else:
            read(tmp_path)
    run_sweep(toy_plan(conditions=[CLEAN]), tmp_path)
    assert contents(tmp_path) == before


def test_a_shard_of_other_columns_is_made_again(tmp_path: Path) -> None:
    run_sweep(toy_plan(conditions=[CLEAN]), tmp_path)
    before = contents(tmp_path)
    other = min(shards_in(tmp_path))
    pq.write_table(pa.table({"status": ["ok"]}), other)
    status = sweep_status(tmp_path)
    assert (status.done, status.remaining, status.damaged) == (1, 1, (other,))
    run_sweep(toy_plan(conditions=[CLEAN]), tmp_path)
    assert contents(tmp_path) == before


def test_beside_a_running_sweep_its_status_can_be_read_and_its_predictions_not_yet(tmp_path: Path) -> None:
    process = start(sweep, toy_plan(mean=PixelModel("toy/mean", 0.02)), tmp_path)
    seen = []
    while process.is_alive():
        time.sleep(0.01)
        try:
            seen.append(sweep_status(tmp_path))
            assert len(read_predictions(tmp_path)) == 154
        except RobustlibError as error:
            assert "holds no" in str(error)  # noqa: PT017  # both outcomes are right
    process.join()
    assert process.exitcode == 0
    done = [status.done for status in seen]
    assert done == sorted(done)
    assert sweep_status(tmp_path).process == ""
    assert len(read_predictions(tmp_path)) == 154


def test_a_disk_that_is_full_from_the_beginning_is_told_with_the_file(tmp_path: Path) -> None:
    process = start(full, tmp_path)
    process.join()
    assert process.exitcode == 0


def full(out: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    with pytest.raises(OSError, match=rf"'{out}/lock'"):
        run_sweep(toy_plan(), out)


def test_after_an_error_of_the_disk_no_more_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, _content: bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    model = PixelModel("toy/mean", 0.05)
    monkeypatch.setattr("robustlib.sweep.run.write_atomically", full)
    with pytest.raises(OSError, match=r"No space left on device: .*\.parquet") as caught:
        run_sweep(toy_plan(mean=model, corner=model), tmp_path, workers=1)
    assert caught.traceback, "which keeps alive all that was running, as a notebook does"
    asked = len(model.batches)
    assert 3 <= asked < 3 * 14
    time.sleep(0.1)
    assert len(model.batches) == asked
