"""Training the pocket models on easy-VQA, and the card that says how it went."""

import json
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch.nn.utils import clip_grad_norm_
from tqdm import tqdm

from robustlib.data import Question, load_dataset
from robustlib.models import load_model
from robustlib.models.base import Model, Prompt
from robustlib.models.checkpoint import no_progress_bars
from robustlib.models.recipes import Learner, Recipe, Source, Stage, load_recipe
from robustlib.seeding import derive_seed

HELD_OUT = 20
"""One training image in so many is never trained on; choices are made there, never on the test split."""
ANSWER_BATCH = 256


@dataclass(frozen=True)
class Training:
    """How a training went."""

    name: str
    seed: int
    recipe: Recipe
    parameters: int
    threads: int
    seconds: float
    accuracies: dict[str, dict[str, float]]
    """Share of right answers by split ("validation", "test", "test, choices") and category, "all" included."""


def train_all(names: Sequence[str], out_dir: str | PathLike[str], seed: int = 0, fraction: float = 1.0) -> pd.DataFrame:
    """Train pocket models one after the other, each into the folder of its short name under `out_dir`.

    Returns:
        One row per model and split: model, split, seconds of training, and the accuracy of each category and of all.
    """
    trainings = [train(name, Path(out_dir) / name.removeprefix("pocket/"), seed, fraction) for name in names]
    return pd.DataFrame(
        {"model": training.name, "split": split, "seconds": training.seconds, **accuracies}
        for training in trainings
        for split, accuracies in training.accuracies.items()
    )


def train(name: str, folder: Path, seed: int = 0, fraction: float = 1.0) -> Training:
    """Train a pocket model and write it with its model card.

    Args:
        name: "pocket/vilt", or any other that has a module in `robustlib.models.recipes`.
        folder: where the checkpoint goes; nothing is written before the training is over.
        seed: the same seed gives the same weights on the same machine with the same number of threads.
        fraction: share of the questions to train and to test on, for a quick look.

    Raises:
        UnknownNameError: there is no such recipe.
    """
    recipe = load_recipe(name)
    questions = load_dataset("easy_vqa", "train", fraction).questions
    training, _ = hold_out(questions)
    start = time.perf_counter()
    learners = []
    for stage in recipe.stages:
        learner = new_learner(stage, questions, seed)
        fit(f"{name}/{stage.name}".removesuffix("/"), learner, stage, learner.source(training), seed)
        learners.append(learner)
    seconds = time.perf_counter() - start
    save(recipe, learners, folder)
    accuracies = measure(folder, "easy_vqa", fraction)
    if recipe.choices:
        choices = measure(folder, "easy_vqa_choice", fraction, mode="rank")
        accuracies |= {f"{split}, choices": own for split, own in choices.items()}
    parameters = sum(learner.network.num_parameters() for learner in learners)
    result = Training(name, seed, recipe, parameters, torch.get_num_threads(), seconds, accuracies)
    (folder / "README.md").write_text(card(result))
    return result


def hold_out(questions: Sequence[Question]) -> tuple[list[Question], list[Question]]:
    """Split into training and validation questions by image, so that no image is on both sides."""
    held = set(sorted({question.image_id for question in questions})[::HELD_OUT])
    return [q for q in questions if q.image_id not in held], [q for q in questions if q.image_id in held]


def new_learner(stage: Stage, questions: Sequence[Question], seed: int) -> Learner:
    """Return the untrained network of a seed; the global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return stage.learner(questions)


def fit(label: str, learner: Learner, stage: Stage, data: Source, seed: int) -> None:
    """Train in place: AdamW, one-cycle learning rate, gradients clipped to norm 1.

    Args:
        label: what the progress bar shows; with the seed, it decides all that is drawn.
        learner: as new.
        stage: its phases and batch size.
        data: the learner's source.
        seed: see `train`.
    """
    draw = torch.Generator().manual_seed(derive_seed("train", label, seed) % 2**63)
    weights = list(learner.network.parameters())
    steps = [phase.passes * ceil(data.count(phase.categories) / stage.batch_size) for phase in stage.phases]
    learner.network.train()
    with tqdm(total=sum(steps), desc=label, unit="step", mininterval=1) as bar:
        for phase, total in zip(stage.phases, steps, strict=True):
            optimiser = torch.optim.AdamW(weights, phase.learning_rate, betas=(0.9, 0.98), weight_decay=0.05)
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, phase.learning_rate, total, pct_start=0.1)
            for _ in range(phase.passes):
                order = data.order(phase.categories, draw)
                for batch in data.batches(order, stage.batch_size, draw):
                    loss = learner.loss(batch)
                    optimiser.zero_grad()
                    torch.autograd.backward(loss)
                    clip_grad_norm_(weights, 1.0)
                    optimiser.step()
                    schedule.step()
                    bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
                    bar.update()
    learner.network.eval()


def save(recipe: Recipe, learners: Sequence[Learner], folder: Path) -> None:
    """Write a checkpoint that `load_model` reads."""
    with no_progress_bars():
        for stage, learner in zip(recipe.stages, learners, strict=True):
            for part in (learner.network, *learner.processors):
                part.save_pretrained(folder / stage.name)
    if recipe.config:
        (folder / "config.json").write_text(json.dumps(recipe.config, indent=2) + "\n")


def measure(folder: Path, dataset: str, fraction: float, **settings: Any) -> dict[str, dict[str, float]]:
    """Return how well a checkpoint answers the held-out and the test questions of easy-VQA, in either of its forms."""
    model = load_model(str(folder), **settings)
    _, validation = hold_out(load_dataset(dataset, "train", fraction).questions)
    test = load_dataset(dataset, "test", fraction).questions
    return {"validation": accuracy_by_category(model, validation), "test": accuracy_by_category(model, test)}


def accuracy_by_category(model: Model, questions: Sequence[Question]) -> dict[str, float]:
    """Return the share of right answers of each category, and of "all"; easy-VQA has one right answer a question."""
    right = defaultdict(list)
    for start in range(0, len(questions), ANSWER_BATCH):
        asked = questions[start : start + ANSWER_BATCH]
        answers = model.answer([Prompt(question.pixels(), question.text, question.options) for question in asked])
        for question, answer in zip(asked, answers, strict=True):
            right[question.category].append(answer.text == question.answers[0])
            right["all"].append(answer.text == question.answers[0])
    return {category: sum(own) / len(own) for category, own in sorted(right.items())}


def card(training: Training) -> str:
    """Return the model card of a training, in Markdown."""
    recipe = training.recipe
    phases = [
        f"{stage.name + ': ' if stage.name else ''}{phase.passes} passes over {', '.join(phase.categories)} "
        f"in batches of {stage.batch_size}; learning rate up to {phase.learning_rate}"
        for stage in recipe.stages
        for phase in stage.phases
    ]
    categories = list(training.accuracies["test"])
    rows = [
        [split, *(f"{own[name]:.2%}" if name in own else "" for name in categories)]
        for split, own in training.accuracies.items()
    ]
    table = [["split", *categories], ["---", *("---:" for _ in categories)], *rows]
    return _CARD.format(
        name=training.name,
        architecture=recipe.architecture,
        start=recipe.start,
        parameters=training.parameters,
        held_out=HELD_OUT,
        shown=recipe.shown,
        seed=training.seed,
        phases="\n".join(f"{number}. {phase}" for number, phase in enumerate(phases, 1)),
        seconds=training.seconds,
        threads=training.threads,
        table="\n".join(f"| {' | '.join(row)} |" for row in table),
    )


_CARD = """\
# {name}

{architecture}, with {parameters:,} parameters in float32. `robustlib.models.training` made it and wrote this card.

## Data

easy-VQA 1.0 (Victor Zhou, 2019; MIT licence), training split. One image in {held_out} is held out for validation.
{shown}

## Recipe

{start}; seed {seed}, AdamW with one-cycle learning rates:

{phases}

{seconds:.0f} seconds with {threads} threads.

## Clean accuracy

{table}
"""
