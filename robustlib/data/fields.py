"""What loaders read from a row: texts, options, labels and answers, each fault named by its field."""

import ast
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from robustlib.data.images import LazyImage
from robustlib.data.question import FieldError
from robustlib.errors import RobustlibError

_NAMES_REMEMBERED = 65_536
"""Names whose check is remembered, so that the questions on one image check it once."""


def text_of(row: Mapping[str, Any], field: str) -> str:
    """Return a text that is there and not empty.

    Raises:
        FieldError: it is missing, no text, empty, or no valid Unicode.
    """
    value = row.get(field)
    if not isinstance(value, str) or not value.strip():
        raise FieldError(field, f"must be a text that is not empty, got {value!r}.")
    return _unicode(value, field)


def text_or_empty(row: Mapping[str, Any], field: str) -> str:
    """Return a text that may be missing: then "".

    Raises:
        FieldError: it is no text, blank, or no valid Unicode.
    """
    return "" if row.get(field) in (None, "") else text_of(row, field)


def _unicode(text: str, field: str) -> str:
    """Return a text that has no lone surrogate: JSON can spell one, but no table can store it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FieldError(field, f"must be valid Unicode, got {text!r}.") from None
    return text


def options_of(row: Mapping[str, Any], field: str) -> tuple[str, ...]:
    """Return at least two options, no two alike.

    Raises:
        FieldError: they are not.
    """
    options = texts_of(row, field)
    for option in options:
        if options.count(option) > 1:
            raise FieldError(field, f"every option must be different, but {option!r} is there more than once.")
    return options


def texts_of(row: Mapping[str, Any], field: str) -> tuple[str, ...]:
    """Return at least two options, which may be alike.

    Raises:
        FieldError: they are something else.
    """
    options = row.get(field)
    if not isinstance(options, Sequence) or isinstance(options, str) or len(options) < 2:
        raise FieldError(field, f"must be a list of at least 2 texts, got {options!r}.")
    for option in options:
        if not isinstance(option, str) or not option.strip():
            raise FieldError(field, f"every option must be a text that is not empty, got {option!r}.")
    return tuple(_unicode(option, field) for option in options)


def literal_of(row: Mapping[str, Any], field: str) -> Any:
    """Return a value; where it is the text of a Python list, that list.

    Raises:
        FieldError: it is another text.
    """
    value = row.get(field)
    if not isinstance(value, str):
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise FieldError(field, f"must be a list of texts, got {value!r}.") from None


def label_in(row: Mapping[str, Any], field: str, options: Sequence[str]) -> int:
    """Return the place of the right option, from 0; -1 where the row does not tell.

    Raises:
        FieldError: it is no place among the options.
    """
    label = row.get(field)
    if label is None:
        return -1
    if isinstance(label, bool) or not isinstance(label, int) or not 0 <= label < len(options):
        raise FieldError(field, f"must be a whole number from 0 to {len(options) - 1}, got {label!r}.")
    return label


def answers_of(row: Mapping[str, Any], field: str) -> tuple[str, ...]:
    """Return reference answers: texts, or records with the text as ``answer``; also as the text of a Python list.

    Raises:
        FieldError: they are something else.
    """
    value = literal_of(row, field)
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise FieldError(field, f"must be a list of texts, got {value!r}.")
    entries = [entry.get("answer") if isinstance(entry, Mapping) else entry for entry in value]
    answers = tuple(entry for entry in entries if isinstance(entry, str))
    if len(answers) < len(entries):
        raise FieldError(field, f"every answer must be a text, got {value!r}.")
    return tuple(_unicode(answer, field) for answer in answers)


class ImageFolder:
    """Images that a data file names, all below one folder. Each is checked once, undecoded."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._root = os.path.realpath(folder)
        self._find = lru_cache(maxsize=_NAMES_REMEMBERED)(self._check)

    def image(self, name: str, field: str) -> LazyImage:
        """Return the image of that name, relative to the folder.

        Raises:
            FieldError: the name is no valid Unicode or leads out of the folder, or there is no image that can be
                opened.
        """
        found = self._find(_unicode(name, field))
        if isinstance(found, str):
            raise FieldError(field, found)
        return found

    def _check(self, name: str) -> LazyImage | str:
        """Return the image, or what is wrong with it."""
        try:
            real = os.path.realpath(self._folder / name)
        except ValueError as error:
            return f"{name!r} is no path: {error}."
        if not real.startswith(self._root.rstrip(os.sep) + os.sep):
            return f"{name!r} leads out of the folder {self._folder}."
        image = LazyImage(self._folder / name)
        try:
            image.check()
        except RobustlibError as error:
            return str(error)
        return image
