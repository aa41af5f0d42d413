"""VQA accuracy and the answer normalisation of the VQA benchmark (Antol et al. 2015; GT-Vision-Lab/VQA, vqaEval.py)."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, get_args

from robustlib.errors import InvalidTypeError, InvalidValueError, UnknownNameError

Form = Literal["official", "simple"]
FORMS: tuple[str, ...] = get_args(Form)

_PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_PERIOD_BEFORE_NO_DIGIT = re.compile(r"\.(?!\d)")
_ARTICLES = frozenset({"a", "an", "the"})
_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {"none": "0"} | {word: str(value) for value, word in enumerate(_NUMBER_WORDS)}
_CONTRACTED = """
    'ow's'at 'twas ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't
    he'd he'd've he's how'd how'll how's isn't it'd it'd've it'll ma'am might've mightn't mightn't've must've mustn't
    needn't not've o'clock oughtn't shan't she'd've should've shouldn't shouldn't've somebody'd've somebody'll
    somebody's someone'd someone'd've someone'll someone's something'd something'd've something'll that's there'd
    there'd've there're there's they'd they'd've they'll they're they've wasn't we'd've we've weren't what'll what're
    what's what've when's where'd where's where've who'd who'd've who'll who's who've why'll why're why's won't would've
    wouldn't wouldn't've y'all y'all'd've y'all'll you'd you'd've you'll you're you've
"""


def _without_one_apostrophe(word: str) -> list[str]:
    return [word[:place] + word[place + 1 :] for place, letter in enumerate(word) if letter == "'"]


_CONTRACTIONS = {typed: word for word in _CONTRACTED.split() for typed in _without_one_apostrophe(word)}
_CONTRACTIONS["somebody'd"] = "somebodyd"  # the official table has this one the wrong way round


@lru_cache(maxsize=1 << 16)
def normalise_answer(text: str) -> str:
    r"""Bring an answer to the form in which the VQA benchmark compares answers.

    Punctuation: where a mark has a space beside it, or the text has a comma between two digits, the mark is deleted;
    elsewhere it becomes a space. A period stays only before a digit. Words: lower case; ``none`` and ``zero`` to
    ``ten`` become digits; ``a``, ``an``, ``the`` go; a contraction gets its missing apostrophe back.

    Two quirks of the official script are kept: ``5.`` becomes ``5``, and the capitalised contractions of its table
    (``Im``) never match. One is not: it removes at most 32 periods, this function removes all.

    Args:
        text: an answer as a person or a model gave it.

    Returns:
        The normal form; ``""`` when nothing is left (``"The"``, ``"?"``).

    Example:
        >>> normalise_answer("1,000 - 2,000"), normalise_answer("Two-tone"), normalise_answer("It isnt a T-shirt.")
        ('1000 2000', '2 tone', "it isn't t shirt")
    """
    return _normalise_words(_strip_punctuation(text.replace("\n", " ").replace("\t", " ").strip()))


def vqa_accuracy(prediction: str, answers: Sequence[str], form: Form = "official") -> float:
    """Score one answer against the answers that people gave.

    With ``k`` of the ``n`` reference answers equal to the prediction, ``simple`` is Eq. 2 of the visual robustness
    benchmark, ``min(k / 3, 1)``. ``official`` is the mean over the ``n`` subsets that leave one reference out of
    ``min(matches in the subset / 3, 1)``; with ten references that is 0, .3, .6, .9, 1 for ``k`` = 0, 1, 2, 3, >= 4.
    Both forms are made for ten references: fewer than four (official) or three (simple) can never give a score of 1.

    Two deviations from the official script, which change scores only where it goes against its own rules. It skips the
    normalisation where all ten references are one string, so that ``Yes`` scores 0 against ten times ``yes``; here
    both sides are always normalised. It finds "the others" by comparing records, so that ten equal answers without
    distinct ids score 0; here the one left out is a position. An answer that normalises to nothing matches nothing.

    Args:
        prediction: the model's answer.
        answers: the reference answers, ten in VQA v2; order does not matter.
        form: ``"official"`` or ``"simple"``.

    Returns:
        The accuracy in [0, 1], float64 and exact to the last bit.

    Raises:
        InvalidTypeError: the prediction is no text, or the answers are not a sequence of texts.
        InvalidValueError: there are no reference answers.
        UnknownNameError: the form is neither of the two.

    Example:
        >>> answers = ["two"] * 3 + ["3"] * 7
        >>> vqa_accuracy("2", answers), vqa_accuracy("2", answers, form="simple")
        (0.9, 1.0)
    """
    _check(prediction, answers, form)
    normal = normalise_answer(prediction)
    total = len(answers)
    matches = sum(normalise_answer(answer) == normal for answer in answers) if normal else 0
    if form == "simple":
        return min(matches, 3) / 3
    left_out_matches = matches * min(matches - 1, 3)
    left_out_differs = (total - matches) * min(matches, 3)
    return (left_out_matches + left_out_differs) / (3 * total)


def _strip_punctuation(text: str) -> str:
    """Delete or blank each mark; whether it has a space beside it is judged in the text as it came."""
    all_deleted = _COMMA_IN_NUMBER.search(text) is not None
    result = text
    for mark in _PUNCTUATION:
        beside_space = f"{mark} " in text or f" {mark}" in text
        result = result.replace(mark, "" if all_deleted or beside_space else " ")
    return _PERIOD_BEFORE_NO_DIGIT.sub("", result)


def _normalise_words(text: str) -> str:
    numbered = (_NUMBERS.get(word, word) for word in text.lower().split())
    kept = (word for word in numbered if word not in _ARTICLES)
    return " ".join(_CONTRACTIONS.get(word, word) for word in kept)


def _check(prediction: str, answers: Sequence[str], form: str) -> None:
    if not isinstance(prediction, str):
        raise InvalidTypeError(f"A prediction must be text, got {prediction!r}.")
    if isinstance(answers, str) or not all(isinstance(answer, str) for answer in answers):
        raise InvalidTypeError(f"Reference answers must be a sequence of texts, got {answers!r}.")
    if len(answers) == 0:
        raise InvalidValueError("VQA accuracy needs at least one reference answer, got none.")
    if form not in FORMS:
        raise UnknownNameError("form of VQA accuracy", form, FORMS)
