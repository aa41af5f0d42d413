"""Family typos: slips of the finger on a keyboard (first document, Section 9).

A slip inserts a neighbouring key, repeats or removes the letter, replaces it by a neighbouring key, or exchanges it
with the letter behind it, each as likely as the others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import dist

import numpy as np

from robustlib.data.question import Question
from robustlib.errors import InvalidValueError
from robustlib.perturbations.variant import Variant, vary
from robustlib.seeding import generator

RATES = (0.02, 0.04, 0.06, 0.08, 0.10)
"""Chance of a slip for each letter, at severities 1 to 5."""

_ROWS = (("qwertyuiop", 0.0), ("asdfghjkl", 0.25), ("zxcvbnm", 0.75))  # keys, and by how much of a key they are set in
_PLACES = {key: (column + offset, row) for row, (keys, offset) in enumerate(_ROWS) for column, key in enumerate(keys)}
ADJACENT = {
    key: "".join(other for other in sorted(_PLACES) if other != key and dist(_PLACES[key], _PLACES[other]) < 1.3)
    for key in _PLACES
}
"""For each letter of a QWERTY keyboard, the letters whose keys touch its own."""

SLIPS = ("insert", "repeat", "remove", "replace", "exchange")


def mistype(questions: Sequence[Question], seed: int) -> Iterator[Variant]:
    """Type each question that has letters with slips at five rates.

    All severities use the same draws, so a higher one adds slips to those of a lower one. Chance may leave a question
    unharmed; it stays, so that every severity is about the same questions.
    """
    for question in questions:
        if ADJACENT.keys().isdisjoint(question.text.lower()):
            continue
        for severity, rate in enumerate(RATES, start=1):
            text = type_text(question.text, rate, generator("typos", seed, question.dataset, question.id))
            yield vary(question, "typos", "keyboard", replace(question, text=text), severity=severity, part=severity)


def type_text(text: str, rate: float, random: np.random.Generator) -> str:
    """Return the text as a hasty typist writes it; only the letters a to z are at risk.

    Args:
        text: any text.
        rate: chance of a slip for each letter, in [0, 1].
        random: where the slips come from.

    Raises:
        InvalidValueError: a rate outside [0, 1].
    """
    if not 0 <= rate <= 1:
        raise InvalidValueError(f"rate must lie in [0, 1], got {rate}.")
    chances, choices = random.random((2, len(text)))
    slips = random.integers(len(SLIPS), size=len(text))
    typed, place = "", 0
    while place < len(text):
        pair = text[place : place + 2]
        if chances[place] >= rate or pair[0].lower() not in ADJACENT:
            typed += pair[0]
            place += 1
            continue
        slip = SLIPS[slips[place]]
        typed += _slip(slip, pair, choices[place])
        place += 2 if slip == "exchange" else 1
    return typed


def _slip(slip: str, pair: str, choice: float) -> str:
    """Return what is typed for a letter (for a letter and what follows it, if the two are exchanged)."""
    letter = pair[0]
    neighbours = ADJACENT[letter.lower()]
    neighbour = neighbours[int(choice * len(neighbours))]
    if letter.isupper():
        neighbour = neighbour.upper()
    return {
        "insert": letter + neighbour,
        "repeat": letter * 2,
        "remove": "",
        "replace": neighbour,
        "exchange": pair[::-1],
    }[slip]
