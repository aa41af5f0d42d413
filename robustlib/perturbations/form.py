"""Families form_choice and negation: the same judgement asked in another form, or the other way round."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from robustlib.data.question import YES_NO, Question
from robustlib.perturbations.variant import Variant, vary
from robustlib.perturbations.wording import asks, is_plain_yes_no, statement_body

_OPPOSITE = {"yes": "no", "no": "yes"}


def change_form(questions: Sequence[Question], seed: int) -> Iterator[Variant]:
    """Ask a yes/no question as a choice between no and yes, and a choice as one yes/no question for each option.

    The k yes/no questions of one choice share the name ``choice_to_noul``; the target of each is the source index of
    the option it asks about. The seed is not used.
    """
    for question in questions:
        if question.kind == "yesno" and question.options and question.text.strip() and is_plain_yes_no(question):
            yield vary(question, "form_choice", "noul_to_choice", replace(question, kind="choice", options=YES_NO))
        elif question.kind == "choice" and question.label >= 0:
            for index in range(len(question.options)):
                shown = _ask_about(question, index)
                yield vary(question, "form_choice", "choice_to_noul", shown, order=(-1, -1), target=index, part=index)


def negate(questions: Sequence[Question], seed: int) -> Iterator[Variant]:
    """Put a yes/no question into a negated frame, its own words untouched; label and answers are turned round.

    What ends with "?" or starts with a question word is a question, everything else a statement. The seed is not used.
    """
    for question in questions:
        text = question.text.strip()
        if not text or not is_plain_yes_no(question):
            continue
        shown = replace(
            question,
            label=1 - question.label if question.label >= 0 else -1,
            answers=tuple(_OPPOSITE.get(answer.lower(), answer) for answer in question.answers),
        )
        if text.endswith("?") or asks(text):
            framed = f"Decide whether the answer to this question is no: {text}"
            yield vary(question, "negation", "question", replace(shown, text=framed))
        else:
            framed = f"Is it false that {statement_body(text)}?"
            yield vary(question, "negation", "statement", replace(shown, text=framed))


def _ask_about(question: Question, index: int) -> Question:
    right = int(index == question.label)
    return replace(
        question,
        text=f"Is the answer to this question '{question.options[index]}'? {question.text.strip()}",
        kind="yesno",
        options=YES_NO,
        label=right,
        answers=(YES_NO[right],),
    )
