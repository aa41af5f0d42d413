"""How many questions a model is asked in one call, where the profile leaves that to be found out."""

import time
from collections.abc import Iterable, Sequence
from itertools import chain

from robustlib.data import Dataset, Question
from robustlib.errors import RobustlibError
from robustlib.models.base import Model, Prompt
from robustlib.sweep.asking import answer, free_memory, is_out_of_memory, prepare
from robustlib.sweep.conditions import CLEAN, items_of
from robustlib.sweep.showing import prompts_by_picture
from robustlib.sweep.threads import in_threads

MOST = 512
"""Questions in the largest call that is tried."""
WORTH = 1.1
"""How many times as many questions a second a call twice as large must answer."""


def probe_batch_size(model: Model, datasets: Sequence[Dataset]) -> int:
    """Return how many questions to ask a model in one call, a power of two.

    It is asked 1, 2, 4, ... of the clean questions with the largest images, each number twice, the second time timed,
    while the network alone is busy: what a model of stages prepares on the CPU is not counted, as a sweep does that in
    the meantime. The answer is the last number before one that

    * is above `MOST` or than there are questions,
    * does not fit in memory, or
    * answers less than `WORTH` times as many questions a second as half of it.

    So it depends on the machine, and somewhat on chance; a sweep records it. Probing costs at most the time of 2,046
    questions.

    Args:
        model: the model.
        datasets: the questions of a sweep.

    Raises:
        RobustlibError: an image cannot be read, or the model fails at these questions, for another reason than memory.
    """
    questions = _largest(chain.from_iterable(datasets))
    (size,) = in_threads(lambda one: _probe(one, questions), [model], 1)  # torch computes as it does in a sweep
    return size


def _probe(model: Model, questions: Sequence[Question]) -> int:
    size, seconds = 1, _seconds(model, questions[:1])
    while seconds is not None and 2 * size <= len(questions):
        longer = _seconds(model, questions[: 2 * size])
        if longer is None or 2 * seconds < WORTH * longer:
            break
        size, seconds = 2 * size, longer
    return size


def _seconds(model: Model, questions: Sequence[Question]) -> float | None:
    """Return the seconds that a call takes, None if it does not fit in memory."""
    prompts = [prompt for _, prompt in prompts_by_picture(items_of(questions, CLEAN, 0, "image"))]
    try:
        _time(model, prompts)
        return _time(model, prompts)
    except Exception as error:
        if not is_out_of_memory(error):
            raise RobustlibError(
                f"{model.name} failed while its batch size was probed, at a call of {len(prompts)} questions "
                f'({type(error).__name__}: {error}). Give the profile a number for batch_size instead of "auto".'
            ) from error
    free_memory()
    return None


def _time(model: Model, prompts: Sequence[Prompt]) -> float:
    ready = prepare(model, prompts)
    start = time.perf_counter()
    answer(model, prompts, ready)
    return time.perf_counter() - start


def _largest(questions: Iterable[Question]) -> list[Question]:
    """Return the questions with the largest images, at most `MOST`; those with one image stay together."""
    return sorted(questions, key=_pixels, reverse=True)[:MOST]


def _pixels(question: Question) -> int:
    return sum(width * height for width, height in (image.size() for image in question.images))
