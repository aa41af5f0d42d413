"""How fast a sweep is, beside the bare model and a straightforward loop: ``python -m tests.bench.sweep``.

* bare: the model's network on batches whose tensors are ready, in one thread;
* sweep: `run_sweep` on the same questions, from reading images to written shards, by one worker and by one per core,
  whose processes take a few seconds to start;
* loop: a question at a time, its image corrupted, prepared and asked by itself, with transformers' own processor and
  network where it has them (ViLT, BLIP), else with the adapter.

Rounds alternate, and the best of each counts, so that what else the machine does falls on all alike.
"""

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import harmonic_mean
from tempfile import TemporaryDirectory
from typing import Any

import torch
from tabulate import tabulate
from transformers import BlipForQuestionAnswering, ViltForQuestionAnswering

from robustlib.corruptions import warm_up
from robustlib.models.base import Model, Prompt
from robustlib.models.blip import Blip
from robustlib.models.staged import Staged
from robustlib.models.vilt import Vilt
from robustlib.sweep import Plan, load_profile, make_plan, plan_jobs, run_sweep
from robustlib.sweep.conditions import Item, items_of
from robustlib.sweep.plan import Job, load, profile_conditions
from robustlib.sweep.shards import Batch, batches
from robustlib.sweep.showing import prompts_by_picture
from robustlib.sweep.threads import in_threads

PROFILE = "pocket/vqa-bench"
STEP = 4
"""Every so many conditions of the profile are asked."""
LOOPED = 32
"""Questions of each condition that the loop asks."""


def main() -> None:
    """Print one row per model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="times that each is measured (default: %(default)s)")
    rounds = parser.parse_args().rounds
    profile = load_profile(PROFILE)
    for suite in profile.suites:
        warm_up(suite)
    conditions = profile_conditions(profile)[::STEP]
    datasets = list(make_plan(profile).datasets.values())
    rows: list[list[Any]] = []
    for choice in profile.models:
        plan = plan_jobs(replace(profile, models=(choice,)), datasets, {choice.column: choice}, conditions)
        rows.append([choice.column, *_measure(plan, load(choice), rounds)])
    cores = os.cpu_count() or 1
    heads = ["bare", "sweep, 1 worker", f"sweep, {cores}", "loop"]
    ratios = ["sweep, 1 / bare", f"sweep, {cores} / bare", f"sweep, {cores} / loop"]
    print(f"{PROFILE}, every {STEP}th condition; questions a second, best of {rounds} rounds.\n")
    every = [harmonic_mean(row[place] for row in rows) for place in (1, 2, 3, 4)]
    total = ["all", *every, every[1] / every[0], every[2] / every[0], every[2] / every[3]]
    formats = ("", *[".0f"] * 4, ".2f", ".2f", ".1f")
    print(tabulate([*rows, total], ["model", *heads, *ratios], "github", floatfmt=formats))


def _measure(plan: Plan, model: Model, rounds: int) -> list[float]:
    """Return questions a second of the four, and the ratios."""
    assert isinstance(model, Staged)
    (dataset,) = plan.datasets.values()
    ready = [_ready(plan, model, job) for job in plan.jobs]
    answer = _stock(model)
    seconds: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        seconds["bare"].append(_seconds(partial(_bare, model, ready)))
        for name, workers in (("one", 1), ("all", os.cpu_count() or 1)):
            with TemporaryDirectory() as folder:
                sweep = partial(run_sweep, plan, Path(folder, "out"), workers=workers)
                seconds[name].append(_seconds(sweep))
        seconds["loop"].append(_seconds(partial(_loop, plan, answer)))
    asked = len(plan.jobs) * len(dataset)
    bare, one, every = (asked / min(seconds[name]) for name in ("bare", "one", "all"))
    loop = len(plan.jobs) * LOOPED / min(seconds["loop"])
    return [bare, one, every, loop, one / bare, every / bare, every / loop]


def _ready(plan: Plan, model: Model, job: Job) -> list[Batch]:
    return list(batches(model, _items(plan, job), job.identity["batch_size"]))


def _items(plan: Plan, job: Job) -> list[Item]:
    questions = plan.datasets[job.dataset].questions
    return items_of(questions, job.condition, plan.profile.base_seed, plan.profile.seeding)


def _bare(model: Staged, ready: Sequence[Sequence[Batch]]) -> None:
    def run(own: Sequence[Batch]) -> None:
        for batch in own:
            model.run(batch.prompts, batch.ready)

    for _ in in_threads(run, ready, 1):
        pass


def _loop(plan: Plan, answer: Callable[[Prompt], object]) -> None:
    """Ask a question at a time, as one would without a library for it."""
    for job in plan.jobs:
        for item in _items(plan, job)[:LOOPED]:
            ((_, prompt),) = prompts_by_picture([item])
            answer(prompt)


def _stock(model: Model) -> Callable[[Prompt], object]:
    """Return how a question is answered with what transformers has; for a model that it lacks, with the adapter."""
    if not isinstance(model, Vilt | Blip):
        return lambda prompt: model.answer([prompt])
    checkpoint = model._checkpoint
    kind = ViltForQuestionAnswering if isinstance(model, Vilt) else BlipForQuestionAnswering
    network: Any = kind.from_pretrained(checkpoint.source)

    @torch.inference_mode()
    def answer(prompt: Prompt) -> object:
        inputs = checkpoint.image_processor(prompt.image, input_data_format="channels_last", return_tensors="pt")
        inputs.update(checkpoint.tokenizer(prompt.text, return_tensors="pt"))
        if isinstance(model, Vilt):
            return network.config.id2label[int(network(**inputs).logits.argmax())]
        ids = network.generate(inputs["input_ids"], inputs["pixel_values"], attention_mask=inputs["attention_mask"])
        return checkpoint.tokenizer.decode(ids[0], skip_special_tokens=True)

    return answer


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
