"""The variant: a rewritten question, tied to the question it was made from."""

from dataclasses import dataclass, replace

from robustlib.data.question import Question


@dataclass(frozen=True)
class Variant:
    """One rewritten question and what was done to it. Its label is the source's, moved along with the options."""

    question: Question
    """As the model is to see it. Its id is the source's with ``|family/name`` behind it. Its image_id stays the
    source's even where another image is shown, so that all variants of a question are in one cluster."""
    group_id: str
    """Id of the source question."""
    family: str
    """The family that made it."""
    name: str
    """The rule within the family; the column ``variant`` of the predictions."""
    order: tuple[int, ...]
    """For each option shown, its index among the source's options, or -1 if it is not one of them."""
    target: int = -1
    """Index of the shown option that the variant is about: the one added, pushed or asked for; -1 if there is none."""
    operation: str = ""
    """Corruption that its images still have to go through, such as "meaning_preserving/jpeg70"; "" for none."""
    severity: int = 0
    """1 to 5 where the family comes in severities, otherwise 0."""


def vary(
    source: Question,
    family: str,
    name: str,
    shown: Question | None = None,
    *,
    order: tuple[int, ...] | None = None,
    target: int = -1,
    operation: str = "",
    severity: int = 0,
    part: int | None = None,
) -> Variant:
    """Make a variant of a question.

    Args:
        source: the question it is made from.
        family: the family that makes it.
        name: the rule within the family.
        shown: what the model is to see; the source itself where only its image is worked on.
        order: see `Variant`; every option at its own place unless given.
        target: see `Variant`.
        operation: see `Variant`.
        severity: see `Variant`.
        part: tells variants apart that one rule makes of one question.
    """
    question = source if shown is None else shown
    tail = "" if part is None else f":{part}"
    return Variant(
        question=replace(question, id=f"{source.id}|{family}/{name}{tail}"),
        group_id=source.id,
        family=family,
        name=name,
        order=tuple(range(len(question.options))) if order is None else order,
        target=target,
        operation=operation,
        severity=severity,
    )


def with_options(question: Question, order: tuple[int, ...]) -> Question:
    """Return the question with only the options named in the order, in that order; the label moves with its option.

    The label becomes -1 where the right option is left out.
    """
    return replace(
        question,
        options=tuple(question.options[index] for index in order),
        label=order.index(question.label) if question.label in order else -1,
    )
