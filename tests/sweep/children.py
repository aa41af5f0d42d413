"""Processes that sweep and come to harm, forked from a warm server, and a study on disk for them."""

import json
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from robustlib.__main__ import main
from robustlib.models.base import Answer, Prompt
from robustlib.models.registry import ADAPTERS, Adapter
from robustlib.sweep import Plan, run_sweep, suite_conditions
from tests.sweep.toys import PixelModel, toy_plan

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.sweep.warm"])
QUICK = ("gaussian_noise", "shot_noise", "impulse_noise", "brightness", "contrast", "saturate")
PROFILE = """
models = ["{model}"]
corruptions = ["imagenet_c/gaussian_noise", "imagenet_c/brightness"]
severities = [1, 3, 5]
batch_size = 4

[[datasets]]
name = "jsonl:questions.jsonl"
split = "test"
"""


class Toy(PixelModel):
    """A model whose checkpoint says what befalls its process; its record does not, so that the shards are the same."""

    def __init__(self, name: str, source: str) -> None:
        self.record = json.loads((Path(source) / "config.json").read_text())
        super().__init__(name, self.record.get("seconds", 0))

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        if len(self.batches) >= self.record.get("after", 0):
            match self.record.get("then"):
                case "hang":
                    time.sleep(3600)
                case "full disk":
                    while not shards_in(Path(self.record["out"])):
                        time.sleep(0.002)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
                case "out of memory":
                    raise MemoryError
        return super().answer(prompts)

    def describe(self) -> dict[str, str | int | float]:
        return {"fingerprint": self.record.get("fingerprint", "toy 1")}


class Study:
    """A profile with the files that it names: five images, eleven questions and a model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.profile = folder / "toy.toml"
        self.profile.write_text(PROFILE.format(model=folder / "model"))
        (folder / "model").mkdir()
        draw = np.random.default_rng(0)
        for number in range(5):
            Image.fromarray(draw.integers(0, 256, (8, 8, 3), np.uint8)).save(self.image(number))
        rows = [
            {"id": f"q{n}", "image": f"{n % 5}.png", "question": f"Bright, take {n}?", "answers": ["yes"]}
            for n in range(11)
        ]
        (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
        self.befall()

    def image(self, number: int) -> Path:
        """Return one of the five images."""
        return self.folder / f"{number}.png"

    def befall(self, **record: object) -> None:
        """Write the model's checkpoint."""
        (self.folder / "model" / "config.json").write_text(json.dumps({"model_type": "toy", **record}))

    def sweep(self, out: Path, *more: str) -> list[str]:
        """Return the arguments of the command."""
        return ["sweep", str(self.profile), "--out", str(out), "--workers", "1", *more]


def known(patch: pytest.MonkeyPatch) -> None:
    """Let `main` load the toy model in this process, and let processes agree also while somebody edits the code."""
    patch.setitem(ADAPTERS, "toy", Adapter(f"{__name__}:Toy", "Toy", ("rank",)))
    patch.setattr("robustlib.sweep.plan.code_hash", lambda: "toy")


def start(work: Callable[..., object], *arguments: object) -> ForkServerProcess:
    """Start a process that does some work of this module."""
    process = FORKS.Process(target=work, args=arguments)
    process.start()
    return process


def command(arguments: list[str], told: Path) -> None:
    """Run the command line, what it prints in a file."""
    with pytest.MonkeyPatch.context() as patch, told.open("w") as stream:
        known(patch)
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
        sys.exit(main(arguments))


def long_plan(seconds: float = 0.0) -> Plan:
    """Return a plan of 60 shards of three batches, each of which takes so many seconds at least."""
    conditions = [condition for condition in suite_conditions("imagenet_c", range(1, 6)) if condition.variant in QUICK]
    return toy_plan(
        mean=PixelModel("toy/mean", seconds), corner=PixelModel("toy/corner", seconds), conditions=conditions
    )


def sweep(plan: Plan, out: Path, retry_failed: bool = False) -> None:
    """Run a plan."""
    run_sweep(plan, out, workers=2, retry_failed=retry_failed)


def shards_in(out: Path) -> list[Path]:
    """Return the shards that are there."""
    return list(out.rglob("*.parquet"))


def wait_for_a_shard(process: ForkServerProcess, out: Path) -> None:
    """Return when a process has made its first shard."""
    while not shards_in(out):
        assert process.is_alive()
        time.sleep(0.002)
