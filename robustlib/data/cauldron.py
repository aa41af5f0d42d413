"""Parts of The Cauldron (HuggingFaceM4/the_cauldron, 2024) whose questions have options, or yes and no for answers.

A row is a conversation about its images: ``{images, texts: [{user, assistant, source}, ...]}``. The options stand in
the user's text, on lines that begin with "Question:", "Choices:", "A.", "B." and end with "Answer with the letter.",
and the assistant says "Answer: B"; or the user adds "Answer yes or no." and the assistant says "Yes." Turns with
answers of other kinds, as many of MapQA's have, are left out. The only split is "train".
"""

import re
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from robustlib.data.fields import options_of, text_of
from robustlib.data.gathering import Candidate
from robustlib.data.parquet import ParquetRow, parquet_files, parquet_rows
from robustlib.data.question import YES_NO, FieldError, Question

_LETTERED = re.compile(r"(?:(.*)\n)?Question:\s*(.*)\nChoices:\n(.*?)(?:\nAnswer with the letter\.?)?\s*", re.DOTALL)
_OPTION = re.compile(r"^([A-Z])\.[ \t]*", re.MULTILINE)
_LETTER = re.compile(r"(?:Answer:)?\s*([A-Z])\.?")
_INSTRUCTION = re.compile(r"(?:\s*Answer yes or no\.?\s*|(?<=\?)\s*\n[^?]*)$")
"""What follows the question of a yes/no turn: how to answer, or how briefly."""


def load(name: str, path: Path, split: str) -> Iterator[Candidate]:
    """Yield the questions of a part, turn by turn.

    Args:
        name: "ai2d", "visual7w", "vsr" or "mapqa".
        path: a Parquet file of that part, or a folder of them.
        split: "train".

    Raises:
        UnknownNameError, RobustlibError, InvalidValueError: see `parquet_files` and `parquet_rows`.
    """
    for place, file in enumerate(parquet_files(path, split)):
        for row in parquet_rows(file, "Cauldron", ("images", "texts")):
            for turn, texts in enumerate(row.values["texts"] or ()):
                if _yes_no(texts) or "\nChoices:\n" in (texts.get("user") or ""):
                    own = f"{split}-{place:03d}-{row.number - 1:06d}-{turn}"
                    yield Candidate(file, row.number, partial(_question, row, texts, name, own))


def _yes_no(texts: dict[str, Any]) -> str:
    """Return "yes" or "no" where that is the assistant's answer, "" where it is another."""
    said = (texts.get("assistant") or "").strip().rstrip(".").lower()
    return said if said in YES_NO else ""


def _question(row: ParquetRow, texts: dict[str, Any], name: str, own: str) -> Question:
    said = _yes_no(texts)
    text, options, label = _asked_for_yes_no(texts, said) if said else _lettered(texts)
    images = [row.image("images", place) for place in range(len(row.values["images"] or ()))]
    if not images:
        raise FieldError("images", "there is no image.")
    return Question(
        id=own,
        image=images[0][0],
        image_id=sha256(b"".join(digest for _, digest in images)).hexdigest()[:16],
        text=text,
        kind="yesno" if said else "choice",
        options=options,
        label=label,
        answers=(options[label],),
        dataset=name,
        more_images=tuple(image for image, _ in images[1:]),
    )


def _asked_for_yes_no(texts: dict[str, Any], said: str) -> tuple[str, tuple[str, ...], int]:
    return _INSTRUCTION.sub("", text_of(texts, "user")), YES_NO, YES_NO.index(said)


def _lettered(texts: dict[str, Any]) -> tuple[str, tuple[str, ...], int]:
    """Return question, options and the right one's place; a text before the question stays on lines of its own."""
    asked = _LETTERED.fullmatch(text_of(texts, "user"))
    if not asked:
        raise FieldError("texts", f"must ask a question and name choices by letters, got {texts['user']!r}.")
    _, *parts = _OPTION.split(asked[3])
    letters, options = parts[::2], [" ".join(option.split()) for option in parts[1::2]]
    if letters != list(ascii_uppercase[: len(letters)]):
        raise FieldError("texts", f"the choices must be lettered in order, got {letters}.")
    answer = _LETTER.fullmatch((texts.get("assistant") or "").strip())
    if not answer or answer[1] not in letters:
        raise FieldError("texts", f"the answer must be one of {letters}, got {texts.get('assistant')!r}.")
    text = "\n".join(filter(None, [asked[1], asked[2].strip()]))
    return text, options_of({"texts": options}, "texts"), letters.index(answer[1])
