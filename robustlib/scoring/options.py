"""Which option did the model choose? Read from free text by rules with names, and never guessed.

A response that commits to no option, or to several, is no answer. A guess in its place would hide the very drop that a
robustness benchmark measures, since corrupted images make unreadable answers more frequent.
"""

import re
from collections.abc import Callable, Sequence
from string import ascii_uppercase
from typing import NamedTuple

from robustlib.errors import InvalidTypeError, InvalidValueError
from robustlib.models.base import Status
from robustlib.scoring.option_phrases import (
    AND,
    ANSWER_CUE,
    CHOICE_CUE,
    CONCLUSION_CUE,
    DOUBT_BEFORE_CUE,
    MENTION,
    REFUSAL,
    REJECTED_AFTER,
    SERVICE_ERROR,
    VERDICT,
)
from robustlib.scoring.option_places import fills_line, read_at
from robustlib.scoring.option_texts import Menu, Reading, clause_at, is_rejected, menu_of
from robustlib.scoring.response_text import tidy, without_thinking

_CUES = (ANSWER_CUE, CHOICE_CUE, CONCLUSION_CUE, VERDICT)
_LETTER_AND = re.compile(rf"[A-Z]\)?{AND} ?\(?$")


class Extraction(NamedTuple):
    """What was read from a response."""

    choice: int | None
    """Index into the options; None unless the status is "ok"."""
    status: Status
    """Else "no_answer", "truncated" (thinking that never ended) or "error" (the message of a service that failed)."""
    rule: str
    """Name of the rule that decided; "" where none applied."""


class Rule(NamedTuple):
    """One way to read a response."""

    name: str
    read: Callable[[str, Menu], Reading | None]
    """From a tidy response to what it says; None where the rule does not apply."""


def extract_option(response: str, options: Sequence[str]) -> int | None:
    """Return the index of the option that a response chooses, None if it chooses none: see `read_option`."""
    return read_option(response, options).choice


def read_option(response: str, options: Sequence[str]) -> Extraction:
    r"""Read which option a response chooses.

    Thinking (``<think> ... </think>``) is left out first. Then the rules of `RULES` are asked in turn. The first that
    finds an answer decides, also where what it finds is not one single option:

    * "statement": an answer in so many words, in one of some fifteen languages: "Answer: B", "the answer is (B)",
      ``\boxed{B}``, "I choose the dog", "B is correct". The last one counts.
    * "last line": the last line holds a letter, an option's text, or both, and nothing else.
    * "service error": the response is a service's message.
    * "opening": the response begins with a letter that is no word, or with an option's text.
    * "refusal": the response begins by declining to answer.
    * "letter": just one letter is in brackets, in bold or named ("option B"), and not turned down.
    * "text": just one option's text is mentioned, and not turned down.

    A single letter is a label, even where it is also another option's text. "A" and "I" before another word are words.

    Args:
        response: what the model wrote.
        options: the texts of the options, in the order of their letters A, B, C, ...

    Raises:
        InvalidTypeError: the response is no text, or the options are not a sequence of texts.
        InvalidValueError: there are no options, or more than letters.

    Example:
        >>> read_option("I considered (A), but it is incorrect. Final answer: D.", ["cat", "dog", "cow", "hen"])
        Extraction(choice=3, status='ok', rule='statement')
        >>> extract_option("A cat", ["a dog", "a cat"]), extract_option("A or B", ["a dog", "a cat"])
        (1, None)
    """
    _check(response, options)
    answer = without_thinking(response)
    if answer is None:
        return Extraction(None, "truncated", "thinking")
    rule, reading = _first_reading(tidy(answer), menu_of(tuple(options)))
    if rule == "service error":
        return Extraction(None, "error", rule)
    choice = reading.choice if reading else None
    return Extraction(choice, "no_answer" if choice is None else "ok", rule)


def _check(response: str, options: Sequence[str]) -> None:
    if not isinstance(response, str):
        raise InvalidTypeError(f"A response must be text, got {response!r}.")
    if isinstance(options, str) or not all(isinstance(option, str) for option in options):
        raise InvalidTypeError(f"Options must be a sequence of texts, got {options!r}.")
    if not 1 <= len(options) <= len(ascii_uppercase):
        raise InvalidValueError(f"There must be 1 to {len(ascii_uppercase)} options, one a letter, got {len(options)}.")


def _first_reading(text: str, menu: Menu) -> tuple[str, Reading | None]:
    for name, read in RULES:
        reading = read(text, menu)
        if reading is not None:
            return name, reading
    return "", None


def _statement(text: str, menu: Menu) -> Reading | None:
    cues = [match for cue in _CUES for match in cue.finditer(text)]
    for cue in sorted(cues, key=re.Match.start, reverse=True):
        line = text.rfind("\n", 0, cue.start()) + 1
        if DOUBT_BEFORE_CUE.search(text, max(line, cue.start() - 80), cue.start()):
            continue
        reading = _verdict(cue, menu) if cue.re is VERDICT else _announced(cue, menu)
        if reading is not None:
            return reading
    return None


def _verdict(cue: re.Match[str], menu: Menu) -> Reading | None:
    choice = menu.of_letter(cue["letter"])
    if choice is None:
        return None
    paired = _LETTER_AND.search(cue.string, max(cue.start() - 12, 0), cue.start())
    return Reading(None if paired else choice, cue.end())


def _announced(cue: re.Match[str], menu: Menu) -> Reading | None:
    """Read what follows a cue. After a heading that is all that counts, so that nothing readable there is no answer."""
    text, start = cue.string, cue.end()
    reading = read_at(text, start, menu, announced=cue.re is not CONCLUSION_CUE)
    if reading is not None:
        return None if REJECTED_AFTER.match(text, reading.end) else reading
    if cue.re is not ANSWER_CUE:
        return None
    mentioned = menu.only_mention(clause_at(text, start))
    if mentioned is not None:
        return Reading(mentioned, start)
    if cue["heading"] is None:
        return None
    return _first_reading(text[start:], menu)[1] or Reading(None, start)


def _last_line(text: str, menu: Menu) -> Reading | None:
    *_, before, last = "", "", *filter(None, text.split("\n"))
    earlier, reading = _whole_line(before, menu), _whole_line(last, menu)
    if earlier is None or reading is None or earlier.choice == reading.choice:
        return reading
    return Reading(None, len(text))  # two lines of a list


def _whole_line(line: str, menu: Menu) -> Reading | None:
    reading = _opening(line, menu)
    return reading if reading is not None and fills_line(line, reading.end) else None


def _service_error(text: str, menu: Menu) -> Reading | None:
    return Reading(None, len(text)) if SERVICE_ERROR.match(text) else None


def _opening(text: str, menu: Menu) -> Reading | None:
    reading = read_at(text, 0, menu)
    return None if reading is None or REJECTED_AFTER.match(text, reading.end) else reading


def _refusal(text: str, menu: Menu) -> Reading | None:
    return Reading(None, len(text)) if REFUSAL.match(text) else None


def _letter(text: str, menu: Menu) -> Reading | None:
    found = set()
    for match in MENTION.finditer(text):
        choice = menu.of_letter(match[match.lastgroup or 0])
        if choice is None:
            continue
        if not is_rejected(text, match.start(), menu.own_text_end(text, match.end(), choice) or match.end()):
            found.add(choice)
    if not found:
        return None
    return Reading(found.pop() if len(found) == 1 else None, len(text))


def _text(text: str, menu: Menu) -> Reading | None:
    choice = menu.only_mention(text)
    return None if choice is None else Reading(choice, len(text))


RULES: tuple[Rule, ...] = (
    Rule("statement", _statement),
    Rule("last line", _last_line),
    Rule("service error", _service_error),
    Rule("opening", _opening),
    Rule("refusal", _refusal),
    Rule("letter", _letter),
    Rule("text", _text),
)
