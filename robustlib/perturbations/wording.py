"""What the text rules and the negated frames know about English words and yes/no questions."""

import re

from robustlib.data.question import Question

_ASKING = {"what", "which", "who", "whom", "whose", "when", "where", "why", "how"}
_VERBS = {"is", "are", "was", "were", "do", "does", "did", "has", "have", "had"}
_MODALS = {"can", "could", "will", "would", "should", "may", "might"}
QUESTION_WORDS = _ASKING | _VERBS | _MODALS
"""Words that an English question starts with."""
_NO_WORDS, _YES_WORDS = {"no", "false"}, {"yes", "true"}


def first_word(text: str) -> str:
    """Return the first word with its punctuation, "" where there is none."""
    words = text.split(maxsplit=1)
    return words[0] if words else ""


def without_tail(word: str) -> str:
    """Return a word without the punctuation behind it."""
    return re.sub(r"\W+$", "", word)


def is_plain(word: str) -> bool:
    """Tell whether the case of a word's first letter carries no meaning.

    It is plain if it has more than one character, starts with a letter and has no capital after it: "Cat" and "cat's",
    but neither "A" nor "NASA" nor "iPhone" nor "3d".
    """
    return len(word) > 1 and word[0].isalpha() and not any(letter.isupper() for letter in word[1:])


def toggle_first(text: str) -> str:
    """Return the text with the case of its first character that is not a space turned round."""
    start = len(text) - len(text.lstrip())
    letter = text[start : start + 1]
    return text[:start] + (letter.lower() if letter.isupper() else letter.upper()) + text[start + 1 :]


def asks(text: str) -> bool:
    """Tell whether a text starts with a question word, quotes and opening brackets aside."""
    return without_tail(first_word(text).lower().lstrip("\"'([")) in QUESTION_WORDS


def statement_body(text: str) -> str:
    """Return a statement as it stands inside a sentence: a small first letter unless it matters, no full stop."""
    body = text.strip()
    if is_plain(without_tail(first_word(body))) and body[0].isupper():
        body = toggle_first(body)
    return body.rstrip(".! ")


def is_plain_yes_no(question: Question) -> bool:
    """Tell whether a yes/no question is answered by yes and no, rather than by two texts of its own."""
    if question.kind != "yesno":
        return False
    if not question.options:
        return True
    words = [without_tail(first_word(option)).lower() for option in question.options]
    return len(words) == 2 and words[0] in _NO_WORDS and words[1] in _YES_WORDS
