"""Reading an option at one place of a response: where an answer was announced, or where the response begins."""

import re

from robustlib.scoring.option_phrases import AND, FILLER, JOINED, REASON, REJECTED_AFTER, WORD
from robustlib.scoring.option_texts import Menu, Reading

_LETTER = re.compile(
    rf"(?P<marked>[A-Za-z])(?=[)\]}}]|[.:](?!{WORD}))"
    r"|(?P<ended>[A-Z])(?= ?(?:$|[\n;!?\]}$(\"]| ?- | -$))"
    r"|(?P<comma>[A-HJ-Za-hj-z])(?= ?,)"
    rf"|(?P<joined>[A-Z])(?= ?{JOINED} ?\(?[A-Z](?!{WORD}))"
    rf"|(?P<reasoned>[A-HJ-Za-hj-z](?= {REASON}\b)|I(?= because\b))"
    r"|(?P<small>[a-z])(?= ?(?:$|[\n}]))"
    rf"|(?P<loose>[A-Z])(?!{WORD}|['-]{WORD}| ?[=+^°#%])"
    rf"|(?P<lower>[a-z])(?!{WORD}|['-]{WORD})"
)
"""A letter, by what follows it. "I" before a comma is the pronoun; before "=" a letter is a quantity."""

_JOINT = re.compile(
    rf"[)\]}}.:?\"']*(?:(?P<word>,?{AND} )|(?P<mark> ?{JOINED} ?)|(?P<line>\n+)| )?"
    r"(?i:(?:maybe|possibly|perhaps|else|even|also) )?(?i:option )?\(?"
)
_LIST_LETTERS = {
    "word": ("marked", "ended", "comma", "joined", "reasoned", "small", "loose"),
    "mark": ("marked", "ended", "comma", "joined", "small"),
    "line": ("marked", "ended"),
    None: ("marked", "ended"),
}
"""The kinds of letter that, after a joining word, mark, line break or mere blank, make it an answer of several."""

_VERB_NEXT = re.compile(r"\)? (?:is|are|was|were|does|do|has|shows?|can|would|seems|looks)\b")
_WORD_CHARACTER = re.compile(r"\w")


def read_at(text: str, start: int, menu: Menu, announced: bool = False) -> Reading | None:
    """Read an option at a place, by its text or else by its letter.

    Args:
        text: a response as `tidy` leaves it.
        start: the place.
        menu: the options.
        announced: an answer was announced, so that any word may follow a letter, except after "A" and "I".
    """
    filled = _past(FILLER, text, start)
    return menu.text_at(text, start) or menu.text_at(text, filled) or _letter_at(text, filled, menu, announced)


def fills_line(line: str, end: int) -> bool:
    """Return whether no further word follows a place."""
    return _WORD_CHARACTER.search(line, end) is None


def _letter_at(text: str, start: int, menu: Menu, announced: bool) -> Reading | None:
    match = _LETTER.match(text, start)
    if match is None:
        return None
    choice = menu.of_letter(match[0])
    if choice is None:
        return Reading(None, match.end()) if _is_label(match, announced) and fills_line(text, match.end()) else None
    own_end = menu.own_text_end(text, match.end(), choice)
    if own_end is None and not _is_label(match, announced):
        return None
    end = own_end or match.end()
    several = _another_follows(match, end, menu, announced)
    return Reading(None if several else choice, end)


def _is_label(letter: re.Match[str], announced: bool) -> bool:
    """Return whether a letter can be no word."""
    if letter.lastgroup != "loose":
        return letter.lastgroup != "lower"
    before_word = letter.string[letter.end() : letter.end() + 1] == " "
    return announced and not (letter[0] in "AI" and before_word)


def _another_follows(letter: re.Match[str], end: int, menu: Menu, announced: bool) -> bool:
    """Return whether the letter of another option is joined on: "A or B", "(A) cat (B) dog".

    On a line of its own it must be written like the first one, and list marks after an announced answer begin its
    explanation.
    """
    text = letter.string
    joint = _JOINT.match(text, end)
    other = _LETTER.match(text, joint.end()) if joint else None
    if joint is None or other is None or other.lastgroup not in _LIST_LETTERS[joint.lastgroup]:
        return False
    if joint.lastgroup == "line" and (
        other.lastgroup != letter.lastgroup or (announced and other.lastgroup == "marked")
    ):
        return False
    index = menu.of_letter(other[0])
    if index is None or index == menu.of_letter(letter[0]):
        return False
    if joint.lastgroup != "word" and _VERB_NEXT.match(text, other.end()):
        return False
    return not REJECTED_AFTER.match(text, menu.own_text_end(text, other.end(), index) or other.end())


def _past(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start
