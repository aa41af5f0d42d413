"""JSON read piece by piece, so that a file may be larger than memory."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from robustlib.errors import InvalidValueError, RobustlibError

_AT_ONCE = 1 << 20  # characters
_BETWEEN = re.compile(r"[\s,]*")


def array_of(path: Path, key: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of the array under a key at the top of a JSON file.

    Raises:
        RobustlibError: the file cannot be read.
        InvalidValueError: there is no such array, or it breaks off or holds something else than objects.
    """
    try:
        with path.open(encoding="utf-8-sig") as stream:
            pieces = iter(lambda: stream.read(_AT_ONCE), "")
            text = _find(pieces, re.compile(rf'"{key}"\s*:\s*\['))
            if text is None:
                raise InvalidValueError(f"{path} lacks the list {key!r}.")
            yield from _objects(path, text, pieces)
    except (OSError, UnicodeDecodeError) as error:
        raise RobustlibError(f"Cannot read {path}: {error}.") from error


def _find(pieces: Iterator[str], opening: re.Pattern[str]) -> str | None:
    """Return what has been read after the opening of the array, None where it never comes."""
    text = ""
    for piece in pieces:
        text += piece
        if found := opening.search(text):
            return text[found.end() :]
    return None


def _objects(path: Path, text: str, pieces: Iterator[str]) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    place = count = 0
    while True:
        between = _BETWEEN.match(text, place)
        place = between.end() if between else place
        if text.startswith("]", place):
            return
        try:
            value, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            piece = next(pieces, "")
            if not piece:
                raise InvalidValueError(f"{path} breaks off or is no JSON after {count} objects: {error}.") from error
            text, place = text[place:] + piece, 0
            continue
        if not isinstance(value, dict):
            raise InvalidValueError(f"{path} must hold objects, got {value!r} after {count} of them.")
        count += 1
        yield value
