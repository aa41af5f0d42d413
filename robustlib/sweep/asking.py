"""Asking a model: whatever happens, there is one answer for each prompt."""

from collections.abc import Sequence
from math import isfinite
from typing import get_args

from robustlib.errors import RobustlibError
from robustlib.models.base import Answer, Model, Prompt, Status


def ask(model: Model, prompts: Sequence[Prompt]) -> list[Answer]:
    """Return the model's answers to a batch, in order.

    Where the batch fails, its prompts are asked one by one, so that a bad one does not take its neighbours along. A
    prompt that fails alone, or whose answer breaks the contract (a NaN logit, say), gets an answer with the status
    "error" and the reason.

    Raises:
        RobustlibError: the model gave more or fewer answers than it got prompts, so none can be told to be whose.
    """
    try:
        answers = model.answer(prompts)
    except Exception as error:
        if len(prompts) == 1:
            return [Answer("", "error", reason=f"{type(error).__name__}: {error}")]
        return [ask(model, [prompt])[0] for prompt in prompts]
    return check_answers(model, prompts, answers)


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
