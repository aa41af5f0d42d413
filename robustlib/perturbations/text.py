"""Family text: nine ways to word the same question and the same options otherwise.

The rules are cautious. Acronyms, numbers and options that would become alike are left alone, and a rule that does not
apply, or changes nothing, yields no variant. Names are the third document's, which calls a yes/no question "noul".
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from robustlib.data.question import YES_NO, Question
from robustlib.perturbations.variant import Variant, vary
from robustlib.perturbations.wording import (
    asks,
    first_word,
    is_plain,
    is_plain_yes_no,
    statement_body,
    toggle_first,
    without_tail,
)

_NUMBER = re.compile(r"[+\-\d.,/%]+")
_ENDINGS = tuple(".!?,;:)]\"'")


def reword(questions: Sequence[Question], seed: int) -> Iterator[Variant]:
    """Apply each of the nine rules to each question; the seed is not used."""
    for question in questions:
        for rule in RULES:
            shown = rule(question)
            if shown is not None and (shown.text, shown.options) != (question.text, question.options):
                yield vary(question, "text", rule.__name__, shown)


def prefix(question: Question) -> Question | None:
    """Put "Question: " in front, unless it stands there."""
    if question.text.lstrip().lower().startswith("question:"):
        return None
    return replace(question, text=f"Question: {question.text}")


def suffix(question: Question) -> Question | None:
    """Add " Choose the correct option." where there are options to choose from."""
    if not question.options:
        return None
    return replace(question, text=f"{question.text.rstrip()} Choose the correct option.")


def double_spaces(question: Question) -> Question | None:
    """Double every space between words."""
    words = question.text.split()
    return replace(question, text="  ".join(words)) if len(words) > 1 else None


def first_case(question: Question) -> Question | None:
    """Turn the case of the first letter round, where the first word is plain."""
    if not is_plain(without_tail(first_word(question.text))):
        return None
    return replace(question, text=toggle_first(question.text))


def end_punct(question: Question) -> Question | None:
    """Drop one final "?", "." or "!", or add the one that is missing."""
    text = question.text.rstrip()
    if not text:
        return None
    if text[-1] in "?.!":
        return replace(question, text=text[:-1].rstrip())
    return replace(question, text=text + ("?" if asks(text) else "."))


def noul_frame(question: Question) -> Question | None:
    """Ask a yes/no question inside another: what ends with "?" as a question, everything else as a statement."""
    text = question.text.strip()
    if question.kind != "yesno" or not text:
        return None
    if text.endswith("?"):
        return replace(question, text=f"Decide whether the answer to this question is yes: {text}")
    return replace(question, text=f"Is it true that {statement_body(text)}?")


def noul_options(question: Question) -> Question | None:
    """Shorten the options of a yes/no question to "no" and "yes"."""
    if not question.options or not is_plain_yes_no(question):
        return None
    return replace(question, options=YES_NO)


def option_case(question: Question) -> Question | None:
    """Turn the case of the first letter of each option round, where its first word is plain."""

    def changed(option: str) -> str:
        word = first_word(option)
        return toggle_first(option) if is_plain(word) and is_plain(without_tail(word)) else option

    return _change_options(question, changed)


def option_period(question: Question) -> Question | None:
    """Put a full stop behind each option that has no punctuation there and is no number."""

    def changed(option: str) -> str:
        text = option.rstrip()
        return option if not text or text.endswith(_ENDINGS) or _NUMBER.fullmatch(text) else f"{text}."

    return _change_options(question, changed)


def _change_options(question: Question, change: Callable[[str], str]) -> Question | None:
    """Change every option of a choice question, unless two options differ by case alone or come out alike."""
    changed = tuple(map(change, question.options))
    if question.kind != "choice" or _some_alike(question.options) or _some_alike(changed):
        return None
    return replace(question, options=changed)


def _some_alike(options: tuple[str, ...]) -> bool:
    return len({option.lower() for option in options}) < len(options)


RULES = (
    prefix,
    suffix,
    double_spaces,
    first_case,
    end_punct,
    noul_frame,
    noul_options,
    option_case,
    option_period,
)
"""All rules, in the order in which the variants of a question come."""
