"""The engine `ray` on a real Ray on this machine. The shards to compare with come from the engine `local`."""

import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from threading import Lock

import pytest

from robustlib.errors import RobustlibError
from robustlib.models.base import Answer, Model, Prompt
from robustlib.sweep import ModelChoice, Plan, plan_jobs, ray_engine
from robustlib.sweep.engines import find_engine, run_local
from robustlib.sweep.job_queue import LOSSES, JobQueue
from robustlib.sweep.plan import Job
from robustlib.sweep.replicas import check_as_planned
from tests.sweep.toys import CONDITIONS, PROFILE, PixelModel, toy_dataset


@pytest.fixture(scope="module")
def _ray() -> Iterator[None]:
    with ray_engine._cluster():
        yield


def plan_of(**models: Model | ModelChoice) -> Plan:
    """Unlike `toys.toy_plan`, with the hash of the code, which actors look at."""
    return plan_jobs(PROFILE, [toy_dataset()], models, CONDITIONS)


def shards(made: Iterable[tuple[Job, bytes]]) -> dict[str, bytes]:
    return {job.key: shard for job, shard in made}


class Marked(PixelModel):
    """A slow model that leaves the number of its process in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__("toy/mean", 0.02)
        self.folder = folder

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        (self.folder / str(os.getpid())).touch()
        return super().answer(prompts)


class Failing(PixelModel):
    """A model that raises on one question and gives no number for another."""

    def answer_one(self, prompt: Prompt) -> Answer:
        if "take 5" in prompt.text:
            raise RuntimeError("out of luck")
        answer = super().answer_one(prompt)
        return replace(answer, confidence=float("nan")) if "take 7" in prompt.text else answer


class Deadly(PixelModel):
    """A model that takes its process along at one question."""

    def answer_one(self, prompt: Prompt) -> Answer:
        if "take 5" in prompt.text:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().answer_one(prompt)


class Elsewhere(PixelModel):
    """A model that is not the same in two processes."""

    def describe(self) -> dict[str, str | int | float]:
        return {"fingerprint": f"of process {os.getpid()}"}


class Rooted(PixelModel):
    """A model that cannot leave its process."""

    def __init__(self, root: object) -> None:
        super().__init__("toy/mean")
        self.root = root


@pytest.mark.usefixtures("_ray")
def test_though_a_worker_is_killed_the_shards_are_those_of_the_local_engine_byte_for_byte(tmp_path: Path) -> None:
    plan = plan_of(slow=Marked(tmp_path), failing=Failing("toy/mean"), chosen=ModelChoice("pocket/vilt"))
    running = ray_engine.run_ray(plan, plan.jobs, 2)
    made = shards([next(running)])
    while not (marks := list(tmp_path.iterdir())):
        made |= shards([next(running)])
    os.kill(int(marks[0].name), signal.SIGKILL)
    made |= shards(running)
    assert len(made) == len(plan.jobs)
    assert made == shards(run_local(plan, plan.jobs, 2))
    assert len(list(tmp_path.iterdir())) > 2  # that of the killed, of who went on in its place, and of this process


@pytest.mark.usefixtures("_ray")
def test_a_job_that_always_kills_its_worker_is_named() -> None:
    plan = plan_of(deadly=Deadly("toy/mean"))
    with pytest.raises(RobustlibError, match=rf"^deadly on toy/test under clean was lost {LOSSES} times"):
        list(ray_engine.run_ray(plan, plan.jobs, 1))


@pytest.mark.usefixtures("_ray")
def test_another_model_on_the_node_is_an_error_that_says_what_differs() -> None:
    plan = plan_of(one=Elsewhere("toy/mean"))
    told = rf"fingerprint \(model\) for one is 'of process \d+', but .* with 'of process {os.getpid()}'"
    with pytest.raises(RobustlibError, match=told):
        list(ray_engine.run_ray(plan, plan.jobs, 1))


@pytest.mark.usefixtures("_ray")
@pytest.mark.parametrize("root", [Lock(), lru_cache(lambda: 1)], ids=["a lock", "a cache"])
def test_a_model_that_cannot_travel_is_an_error(root: object) -> None:
    plan = plan_of(one=Rooted(root))
    with pytest.raises(RobustlibError, match="cannot be pickled"):
        list(ray_engine.run_ray(plan, plan.jobs, 1))


@pytest.mark.parametrize("part", ["code", "versions"])
def test_other_code_or_libraries_on_the_node_are_an_error(part: str) -> None:
    job = plan_of(one=PixelModel("toy/mean")).jobs[0]
    check_as_planned(job, PixelModel("toy/mean"), "node-7")
    other = {"code": "abc", "versions": {**job.identity["versions"], "torch": "0.1"}}[part]
    with pytest.raises(RobustlibError, match=rf"^On node-7, the (hash|torch) \({part}\) .* with '(abc|0.1)'"):
        check_as_planned(replace(job, identity={**job.identity, part: other}), PixelModel("toy/mean"), "node-7")


def test_without_ray_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, ray_engine.__name__)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RobustlibError, match=r'pip install "robustlib\[cluster\]"'):
        find_engine("ray")


def test_every_model_gets_its_share_of_the_workers() -> None:
    plan = plan_of(a=PixelModel("toy/mean"), b=PixelModel("toy/mean"), c=PixelModel("toy/mean"))
    queue = JobQueue(plan.jobs)
    held: list[str] = []
    for _ in range(6):
        job = queue.take("", held)
        assert job
        held.append(job.model)
    assert sorted(held) == ["a", "a", "b", "b", "c", "c"]


def test_a_worker_stays_with_its_model_and_then_takes_up_another() -> None:
    plan = plan_of(a=PixelModel("toy/mean"), b=PixelModel("toy/mean"))
    queue = JobQueue(plan.jobs)
    taken, held = [], "b"
    while job := queue.take(held, ["a"]):
        taken.append(job)
        held = job.model
    assert [job.model for job in taken] == ["b"] * len(CONDITIONS) + ["a"] * len(CONDITIONS)
    assert [job for job in taken if job.model == "a"] == [job for job in plan.jobs if job.model == "a"]


def test_lost_jobs_come_first_and_only_the_one_under_way_is_blamed() -> None:
    plan = plan_of(a=PixelModel("toy/mean"))
    queue = JobQueue(plan.jobs)
    first, second = plan.jobs[:2]
    assert [queue.take("a", []), queue.take("a", [])] == [first, second]
    queue.put_back([first, second], "")
    queue.put_back([], "")
    assert [queue.take("a", []), queue.take("a", [])] == [first, second]
    queue.put_back([second], "")
    queue.put_back([first], "")
    with pytest.raises(RobustlibError, match=r"^a on toy/test under clean was lost 3 times.* the plug"):
        queue.put_back([first], "somebody pulled the plug")


@pytest.mark.parametrize(
    ("cluster", "workers", "jobs", "expected"),
    [
        ({"CPU": 2.0}, None, 14, (2, {"num_cpus": 1.0})),
        ({"CPU": 64.0, "GPU": 8.0}, None, 100, (8, {"num_gpus": 1.0, "num_cpus": 0})),
        ({"CPU": 64.0, "GPU": 8.0}, None, 3, (3, {"num_gpus": 1.0, "num_cpus": 0})),
        ({"CPU": 64.0, "GPU": 8.0}, 20, 100, (20, {"num_gpus": 0.3333, "num_cpus": 0})),
        ({"CPU": 2.0}, 12, 100, (12, {"num_cpus": 0.1666})),
    ],
    ids=["cores", "GPUs", "few jobs", "three on a GPU", "six on a core"],
)
def test_an_actor_has_a_gpu_or_a_core_or_an_even_share_of_one(
    monkeypatch: pytest.MonkeyPatch,
    cluster: dict[str, float],
    workers: int | None,
    jobs: int,
    expected: tuple[int, dict[str, float]],
) -> None:
    monkeypatch.setattr("ray.cluster_resources", lambda: cluster)
    assert ray_engine._shares(workers, jobs) == expected


def test_nothing_else_knows_ray() -> None:
    package = Path(ray_engine.__file__).parents[1]
    knowing = [path for path in package.rglob("*.py") if re.search(r"^\s*(import|from) ray\b", path.read_text(), re.M)]
    assert knowing == [Path(ray_engine.__file__)]
