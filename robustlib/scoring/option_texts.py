"""Finding the texts of options inside a response, at whole words only."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from string import ascii_uppercase
from typing import NamedTuple

from robustlib.scoring.option_phrases import (
    AND,
    CLAUSE_END,
    FUNCTION_WORDS,
    JOINED,
    REASON,
    REJECTED_AFTER,
    REJECTED_BEFORE,
    WORD,
)
from robustlib.scoring.response_text import tidy

_REACH = 300
"""How many characters a clause is followed at most, so that a response that loops costs no more than its length."""
_CLAUSE = re.compile(rf".{{0,{_REACH}}}?(?=[.;!?](?:[ \n]|$)|\n|\b{REASON}\b|$)", re.IGNORECASE)
_JOINED = re.compile(rf"[ ]?{JOINED}")
_MARKS = re.compile(r"[)\].:, \n-]*")

_TEXT_STARTS = rf"(?<!{WORD})(?<!{WORD}['-])(?:(?<![-^])(?<!\d[.,:/])|(?!\d))"
_TEXT_ENDS = rf"(?!{WORD}|['-]{WORD})(?:(?![.,:/^]\d|\^)|(?<!\d))"
_CLAUSE_GOES_ON = rf"(?=[ ]?(?:$|[\n.,;:!)\]}}\"'>(]| ?- )|[ ]{REASON}\b|{JOINED})"


class Reading(NamedTuple):
    """What stands at one place of a response."""

    choice: int | None
    """Index of an option; None where several are named, or none that there is."""
    end: int
    """Where it ends."""


@dataclass(frozen=True)
class Menu:
    """The options of a question, as `tidy` leaves them."""

    texts: tuple[str, ...]

    def of_letter(self, letter: str) -> int | None:
        """Return the index of the option with this letter, None if there are fewer options."""
        index = ascii_uppercase.find(letter.upper())
        return index if 0 <= index < len(self.texts) else None

    def of_text(self, text: str) -> int | None:
        """Return the only option with this text; upper and lower case count where they alone tell options apart."""
        flat = " ".join(text.split())
        for same in (str, str.casefold):
            found = [index for index, option in enumerate(self.texts) if same(option) == same(flat)]
            if len(found) == 1:
                return found[0]
        return None

    def text_at(self, content: str, start: int) -> Reading | None:
        """Read an option's text at a place, if the clause could end after it.

        Another option in the rest of the clause makes it an answer that names several.
        """
        match = self._at_place.match(content, start)
        if match is None:
            return None
        choice, end = self.of_text(match["text"]), match.end()
        joined = _JOINED.match(content, end)
        several = joined is not None and self._at_place.match(content, joined.end()) is not None
        others = self._uncommon(self.mentions(clause_at(content, end)) - {choice})
        return Reading(None if several or others else choice, end)

    def own_text_end(self, content: str, start: int, choice: int) -> int | None:
        """Return where the option's own text ends if it comes next; None if it does not."""
        text, marks = self.texts[choice], _MARKS.match(content, start)
        begin = marks.end() if marks else start
        end = begin + len(text)
        whole = not re.match(WORD, content[end : end + 1])
        return end if text and whole and content[begin:end].casefold() == text.casefold() else None

    def only_mention(self, content: str) -> int | None:
        """Return the option whose text is mentioned, and not turned down, if there is just one."""
        found = self.mentions(content)
        return self._uncommon(found).pop() if len(found) == 1 and self._uncommon(found) else None

    def mentions(self, content: str) -> set[int]:
        """Return the options mentioned and not turned down; a text inside a longer option's text is no mention."""
        found: set[int] = set()
        covered = 0
        for match in self._anywhere.finditer(content):
            start, end = match.span("text")
            choice = self.of_text(match["text"]) if end > covered else None
            covered = max(covered, end)
            if choice is not None and choice not in found and not is_rejected(content, start, end):
                found.add(choice)
        return found

    def _uncommon(self, choices: set[int]) -> set[int]:
        return {choice for choice in choices if self.texts[choice].casefold() not in FUNCTION_WORDS}

    @cached_property
    def _at_place(self) -> re.Pattern[str]:
        return re.compile(rf"[\W_]{{0,8}}?{self._text}{_CLAUSE_GOES_ON}", re.IGNORECASE)

    @cached_property
    def _anywhere(self) -> re.Pattern[str]:
        return re.compile(f"(?={self._text})", re.IGNORECASE)

    @cached_property
    def _text(self) -> str:
        """A pattern for any option's text, the longest first. A text that is an option's letter is read as a letter."""
        texts = sorted(filter(None, self.texts), key=len, reverse=True)
        words = [_pattern(text) for text in texts if len(text) > 1 or self.of_letter(text) is None]
        return f"{_TEXT_STARTS}(?P<text>{'|'.join(words) or '(?!)'}){_TEXT_ENDS}"


@lru_cache(maxsize=4096)
def menu_of(options: tuple[str, ...]) -> Menu:
    """Return the menu of a question's options; its patterns are made once."""
    return Menu(tuple(" ".join(tidy(option).rstrip(".").split()) for option in options))


def clause_at(content: str, start: int) -> str:
    """Return what stands from a place to the end of its clause."""
    match = _CLAUSE.match(content, start)
    return match[0] if match else content[start : start + _REACH]


def is_rejected(content: str, start: int, end: int) -> bool:
    """Return whether the words around a mention turn it down: "not", "instead of", "is wrong"."""
    if REJECTED_AFTER.match(content, end):
        return True
    reach = max(start - _REACH, 0)
    clause = max((match.end() for match in CLAUSE_END.finditer(content, reach, start)), default=reach)
    return REJECTED_BEFORE.search(content, clause, start) is not None


def _pattern(text: str) -> str:
    words = r"[ \n]".join(map(re.escape, text.split()))
    return words + rf"(?=[ ]?[.)!]?(?:\n|$)|{AND})" if text in ("A", "I") else words  # elsewhere a word
