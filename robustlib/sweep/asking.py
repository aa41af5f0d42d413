"""Asking a model: whatever happens, there is one answer for each prompt."""

import gc
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, cast, get_args

from robustlib.errors import RobustlibError
from robustlib.models.base import Answer, Model, Prompt, Status
from robustlib.models.staged import Staged

_OUT_OF_MEMORY = ("out of memory", "outofmemory", "memoryerror", "can't allocate memory", "alloc_failed")


@dataclass
class Room:
    """How many prompts a model's memory holds at a time, as far as is known."""

    prompts: int = sys.maxsize


def prepare(model: Model, prompts: Sequence[Prompt]) -> Any:
    """Return what a model of stages makes of a batch; None if it has none, or fails at that: `ask` then tells why."""
    if not isinstance(model, Staged):
        return None
    try:
        return model.prepare(prompts)
    except (Exception, SystemExit):
        return None


def answer(model: Model, prompts: Sequence[Prompt], ready: Any) -> list[Answer]:
    """Return the model's answers to a batch as they come, given what `prepare` returned for it."""
    return model.answer(prompts) if ready is None else cast(Staged, model).run(prompts, ready)


def ask(model: Model, prompts: Sequence[Prompt], ready: Any = None, room: Room | None = None) -> list[Answer]:
    """Return the model's answers to a batch, in order.

    A batch that fails, be it for a bad prompt or for lack of memory, is asked in halves. So a bad prompt does not take
    its neighbours along, and what fits in memory is answered. A prompt that fails alone, or whose answer breaks the
    contract (a NaN logit, say), gets an answer with the status "error" and the reason. Answers in halves are the same
    in float32 up to rounding: the last bits of a logit may differ.

    Args:
        model: the model.
        prompts: at least one.
        ready: what `prepare` returned for them, or None.
        room: what is known of the model's memory, and will be; so the batches that follow one that did not fit come in
            parts that do.

    Raises:
        RobustlibError: the model gave more or fewer answers than it got prompts, so none can be told to be whose.
    """
    room = room or Room()
    if len(prompts) > room.prompts:
        return _ask_in_parts(model, prompts, room.prompts, room)
    try:
        answers = answer(model, prompts, ready)
    except (Exception, SystemExit) as error:  # a model that ends the process would pass for a sweep that went well
        failure, crowded = f"{type(error).__name__}: {error}", is_out_of_memory(error)
    else:
        return check_answers(model, prompts, answers)
    if len(prompts) == 1:
        return [Answer("", "error", reason=failure)]
    half = (len(prompts) + 1) // 2
    if crowded:
        room.prompts = half
        free_memory()  # here, where the error has let go of what the call had made
    return _ask_in_parts(model, prompts, half, room)


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether a call failed for lack of memory, on whatever device: torch has no one class for that."""
    text = f"{type(error).__name__}: {error}".lower()
    return any(sign in text for sign in _OUT_OF_MEMORY)


def free_memory() -> None:
    """Give back the memory of models and calls that are no longer in use, also on the accelerator."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_available():
        torch.cuda.empty_cache()


def _ask_in_parts(model: Model, prompts: Sequence[Prompt], size: int, room: Room) -> list[Answer]:
    parts = (prompts[start : start + size] for start in range(0, len(prompts), size))
    return [answer for part in parts for answer in ask(model, part, room=room)]


def check_answers(model: Model, prompts: Sequence[Prompt], answers: Sequence[Answer]) -> list[Answer]:
    """Return a model's answers to a batch; one that breaks the contract gives way to one with the status "error".

    Raises:
        RobustlibError: there are more or fewer answers than prompts.
    """
    if len(answers) != len(prompts):
        raise RobustlibError(f"Model {model.name} gave {len(answers)} answers to {len(prompts)} prompts.")
    return [_checked(prompt, answer) for prompt, answer in zip(prompts, answers, strict=True)]


def _checked(prompt: Prompt, answer: Answer) -> Answer:
    fault = _fault(prompt, answer)
    return Answer("", "error", reason=f"The model gave {fault}.") if fault else answer


def _fault(prompt: Prompt, answer: Answer) -> str:
    """Return what is wrong with an answer, "" if nothing is."""
    options = len(prompt.options)
    logits = answer.logits
    if not isinstance(answer.text, str):
        return f"the text {answer.text!r}"
    if answer.status not in get_args(Status):
        return f"the unknown status {answer.status!r}"
    if not -1 <= answer.choice < options:
        return f"the choice {answer.choice} of {options} options"
    if logits is not None and len(logits) != options:
        return f"{len(logits)} logits for {options} options"
    if logits is not None and not all(map(isfinite, logits)):
        return f"the logits {logits}"
    for name, share in (("confidence", answer.confidence), ("option mass", answer.option_mass)):
        if share is not None and not 0 <= share <= 1:
            return f"the {name} {share}"
    return ""
