"""What type of answer a short text is: yes or no, a number, a colour, a side, or a thing; told by its words alone."""

import re

from robustlib.data.question import YES_NO
from robustlib.scoring.vqa import normalise_answer

_COLOURS = """
    amber aqua auburn azure beige blond blonde blue bluish bronze brown brownish brunette burgundy colorful colourful
    copper coral cream crimson cyan fuchsia gold golden green greenish indigo khaki lavender lilac lime magenta maroon
    mauve multicolored multicoloured mustard navy olive orange peach pink pinkish purple purplish rainbow red reddish
    rust salmon scarlet tan teal turquoise violet yellow yellowish
"""
_GREYS = "black blackish charcoal gray grayish grey greyish silver white whitish"
_THINGS = "amber bronze copper coral cream gold lavender lime mustard olive orange peach rainbow rust salmon silver"
CHROMATIC = frozenset(_COLOURS.split())
"""Words for colours that a grey image cannot show."""
ACHROMATIC = frozenset(_GREYS.split())
"""Words for black, white and the greys between."""

_ALSO_THINGS = frozenset(_THINGS.split())
_SHADES = frozenset({"and", "bright", "dark", "deep", "light", "neon", "or", "pale"})
_SIDES = frozenset({"back", "bottom", "center", "centre", "front", "left", "middle", "right", "top"})
_AMOUNTS = {"couple": 2.0, "pair": 2.0, "dozen": 12.0} | dict.fromkeys(("few", "lots", "many", "several"), float("nan"))
_ASKS_COLOUR = re.compile(r"\b(colou?r(s|ed)?|hues?|shades?)\b", re.IGNORECASE)
_COUNTS = re.compile(r"\b(how many|number of)\b", re.IGNORECASE)
_NUMERAL = re.compile(r"\d[\d.:]*")


def answer_type(question: str, answer: str) -> str:
    """Return what type of answer a text is to a question.

    Returns:
        The first that holds:
        "yesno", yes or no;
        "number", all its words are numbers, or the question asks how many and one of them is a number or an amount;
        "colour", all its words are colours or shades of them; where the question does not speak of colour, none of
        them is also a thing, as an orange is;
        "side", all its words are sides, such as left;
        "thing", everything else.
    """
    words = normalise_answer(answer).split()
    if len(words) == 1 and words[0] in YES_NO:
        return "yesno"
    all_numbers = bool(words) and all(map(_NUMERAL.fullmatch, words))
    if all_numbers or (is_count(question) and count_in(answer) is not None):
        return "number"
    if is_colour(answer) and (_ASKS_COLOUR.search(question) or not _ALSO_THINGS.intersection(words)):
        return "colour"
    return "side" if words and _SIDES.issuperset(words) else "thing"


def is_colour(answer: str) -> bool:
    """Return whether all words of an answer are colours or shades of them, such as "light blue and white"."""
    words = set(normalise_answer(answer).split()) - _SHADES
    return bool(words) and words <= CHROMATIC | ACHROMATIC


def names_chromatic(answer: str) -> bool:
    """Return whether an answer names a colour that is not black, white or grey."""
    return not CHROMATIC.isdisjoint(normalise_answer(answer).split())


def is_count(question: str) -> bool:
    """Return whether a question asks how many."""
    return _COUNTS.search(question) is not None


def count_in(answer: str) -> float | None:
    """Return the first number in an answer, NaN for an amount such as "many", None where there is neither."""
    for word in normalise_answer(answer).split():
        if word in _AMOUNTS:
            return _AMOUNTS[word]
        if word.replace(".", "", 1).isdecimal():
            return float(word)
    return None
