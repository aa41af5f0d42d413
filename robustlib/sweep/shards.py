"""Making a shard: the one function that every engine runs, wherever it runs it."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from robustlib.models.base import Answer, Model, Prompt
from robustlib.sweep.asking import Room, ask, prepare
from robustlib.sweep.conditions import Item, items_of
from robustlib.sweep.plan import Job, Plan
from robustlib.sweep.rows import make_rows
from robustlib.sweep.showing import prompts_by_picture
from robustlib.sweep.store import shard_bytes
from robustlib.sweep.threads import ahead


class Batch(NamedTuple):
    """What is asked in one call."""

    places: list[int]
    """Of the questions among the items of the condition."""
    prompts: list[Prompt]
    ready: Any
    """See `asking.prepare`."""


def make_shard(plan: Plan, job: Job, model: Model) -> bytes:
    """Return a shard as the bytes of its file. While the model answers a batch, the next one is made.

    Args:
        plan: gives the questions and the profile.
        job: one of the plan's.
        model: its model.

    Raises:
        RobustlibError: an image cannot be read, or the model's answers cannot be told apart.
    """
    dataset, profile = plan.datasets[job.dataset], plan.profile
    items = items_of(dataset.questions, job.condition, profile.base_seed, profile.seeding)
    answers: dict[int, Answer] = {}
    room = Room()  # a shard's own, so that its batches do not depend on what was asked before
    for batch in ahead(batches(model, items, job.identity["batch_size"])):
        answers.update(zip(batch.places, ask(model, batch.prompts, batch.ready, room), strict=True))
    in_order = [answers[place] for place in range(len(items))]
    return shard_bytes(make_rows(job.model, dataset, items, in_order, profile.scoring), job.identity)


def batches(model: Model, items: Sequence[Item], size: int) -> Iterator[Batch]:
    """Yield fixed batches, so that none ever depends on what was done before."""
    shown = prompts_by_picture(items)
    while some := list(islice(shown, size)):
        prompts = [prompt for _, prompt in some]
        yield Batch([place for place, _ in some], prompts, prepare(model, prompts))
