"""The sweeps of a profile on several cores: processes make the same shards, and their ends are told."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import imgaug.augmenters as iaa
import psutil
import pytest
import torch

from robustlib.corruptions.imgaug_bridge import from_augmenter
from robustlib.errors import RobustlibError
from robustlib.sweep import DatasetChoice, ModelChoice, Profile, make_plan, run_sweep
from robustlib.sweep.engines import run_local, usual_workers
from robustlib.sweep.processes import in_processes
from tests.sweep.toys import contents

PROFILE = Profile(
    name="processes",
    datasets=(DatasetChoice("easy_vqa", "test", fraction=0.003),),
    models=(ModelChoice("pocket/vilt"), ModelChoice("prior:easy_vqa")),
    corruptions=("vqa_bench/gaussian_noise",),
    batch_size=8,
)
SWEEP = """
import sys
from tests.sweep.test_processes import PROFILE
from robustlib.sweep import run_sweep
from dataclasses import replace
run_sweep(replace(PROFILE, corruptions=(), suites=("vqa_bench",)), sys.argv[1], workers=2)
"""


def test_processes_make_the_shards_that_one_makes(tmp_path: Path) -> None:
    run_sweep(PROFILE, tmp_path / "one", workers=1)
    run_sweep(PROFILE, tmp_path / "two", workers=2)
    assert len(contents(tmp_path / "one")) == 2 * 6 + 2
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


@pytest.mark.parametrize(("gpu", "questions", "expected"), [(False, 10**6, 8), (False, 5000, 2), (True, 10**6, 1)])
def test_workers_are_as_many_as_pay(gpu: bool, questions: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    assert usual_workers(questions) == expected
    assert usual_workers(0) == 1


def test_for_one_shard_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustlib.sweep.engines.in_processes", None)
    plan = make_plan(replace(PROFILE, models=PROFILE.models[1:]))
    [(job, _)] = run_local(plan, plan.jobs[:1], 2)
    assert job == plan.jobs[0]
    assert list(run_local(plan, [], 2)) == []


def test_what_only_this_process_knows_is_asked_about_here(tmp_path: Path) -> None:
    from_augmenter(iaa.Fliplr(1.0), "mirror_of_processes")
    mirrored = replace(PROFILE, corruptions=("custom/mirror_of_processes",), severities=(1,))
    run_sweep(mirrored, tmp_path / "two", workers=2)
    run_sweep(mirrored, tmp_path / "one", workers=1)
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


def test_an_error_in_a_process_and_the_end_of_one_are_told() -> None:
    plan = make_plan(PROFILE)
    wrong = replace(plan.jobs[0], identity={**plan.jobs[0].identity, "code": "other"})
    with pytest.raises(RobustlibError, match=r"the hash .code. for pocket/vilt is .* planned with 'other'"):
        list(in_processes(plan, [wrong], 1))
    made = in_processes(plan, plan.jobs * 40, 2)
    next(made)
    for child in psutil.Process().children():
        if "loky.backend.popen" in " ".join(child.cmdline()):
            child.kill()
    with pytest.raises(RobustlibError, match="ended from outside, perhaps for lack of memory"):
        list(made)


def test_the_processes_of_a_sweep_that_is_killed_end_by_themselves(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", SWEEP, tmp_path], stderr=subprocess.DEVNULL) as process:
        while not list(tmp_path.rglob("*.parquet")):
            assert process.poll() is None
            time.sleep(0.01)
        started = psutil.Process(process.pid).children(recursive=True)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert started
    assert not psutil.wait_procs(started, timeout=30)[1]
