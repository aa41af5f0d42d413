"""The extractors of two published toolkits, faults included, to show how much of a drop is in the reading.

Never used to score: see `robustlib.scoring.options`. Sources: MMMU-Pro, ``mmmu-pro/evaluate.py`` (MMMU-Benchmark/MMMU);
VLMEvalKit, ``can_infer`` (open-compass/VLMEvalKit), as it decides without a language model as judge.
"""

import re
from collections.abc import Sequence
from string import ascii_uppercase

from robustlib.seeding import generator

_REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
_STATED = re.compile(r"(?:correct )?answer is \*\*([A-D])\*\*", re.IGNORECASE)


def mmmu_pro_extract(response: str, options: Sequence[str], seed: int) -> int:
    """Return the option that MMMU-Pro's script reads, which is a random one where it reads none.

    Args:
        response: what the model wrote.
        options: option texts in the order of their letters.
        seed: the original draws unseeded; here the draw depends on the seed and the response.
    """
    letters = ascii_uppercase[: len(options)]
    _, marked, tail = response.rpartition("Answer:")
    inside = [letter for letter in letters if letter in tail]
    if marked and len(inside) == 1:
        return letters.index(inside[0])
    text = f" {_strip_marks(response)} "
    for form, form_sought in (("({})", "({})"), ("{} ", " {} "), ("{}.", " {} ")):
        found = [letter for letter in letters if form.format(letter) in text]
        if found:
            return letters.index(max(found, key=lambda letter: text.rfind(form_sought.format(letter))))
    named = [index for index, option in enumerate(options) if option.lower() in text.lower()]
    if named and len(text.split()) > 5:
        return max(named, key=lambda index: text.lower().rfind(options[index].lower()))
    return int(generator("mmmu_pro_extract", seed, response).integers(len(options)))


def vlmevalkit_extract(response: str, options: Sequence[str]) -> int | None:
    """Return the option that VLMEvalKit infers by itself, None where it would ask a judge or count a refusal."""
    letters = ascii_uppercase[: len(options)]
    if "Failed to obtain answer via API" in response or any(refusal in response for refusal in _REFUSALS):
        return None
    words = re.sub(r"[.()\[\],:;!*#{}]", " ", response).split()
    found = [letter for letter in letters if letter in words]
    if len(found) == 1 and words.index(found[0]) > len(words) - 5:
        return letters.index(found[0])
    if not found and "Z" in words:
        return None
    stated = _STATED.search(response)
    if stated and stated[1].upper() in letters:
        return letters.index(stated[1].upper())
    if len(response) > 2 * sum(map(len, options)):
        return None
    named = [index for index, option in enumerate(options) if option.lower() in response.lower()]
    return named[0] if len(named) == 1 else None


def _strip_marks(text: str) -> str:
    for mark in ",.!?;:'":
        text = text.strip(mark)
    return text
