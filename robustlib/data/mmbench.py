"""MMBench (Liu et al., ECCV 2024) from its TSV files, whose pictures are base64 inside the table.

In files for circular evaluation a question stands once for each order of its options, with an index that is 1,000,000
higher each time. Only the first of these rows holds the picture: the others hold that row's index instead.
"""

import base64
import binascii
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from robustlib.data.images import LazyImage
from robustlib.data.question import Question, label_of
from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError

_LETTERS = "ABCDE"
_LONGEST_INDEX = 64  # characters; every picture has more
_COLUMNS = ("index", "question", "A", "B", "image")
_ROWS_AT_ONCE = 256


def load(path: Path, split: str) -> tuple[Question, ...]:
    """Return the questions of a file, in its order; a hint stands on a line before its question.

    Args:
        path: a TSV file.
        split: "dev" or "test", whose questions have no right answer; a file without the column ``split`` is of any.

    Raises:
        RobustlibError: the file cannot be read.
        InvalidValueError: a column is missing, an answer is no letter of an option, or an image neither base64 nor the
            index of a row that has one.
        UnknownNameError: no row is of that split.
    """
    rows, pictures = [], {}
    for row in _rows(path):
        if len(row["image"]) > _LONGEST_INDEX:
            pictures[row["index"]] = _decode(row)
            row["image"] = row["index"]
        rows.append(row)
    wanted = [row for row in rows if row.get("split", split) == split]
    if not wanted:
        raise UnknownNameError(f"split of {path}:", split, {row["split"] for row in rows if "split" in row})
    return tuple(_question(row, pictures) for row in wanted)


def _rows(path: Path) -> Iterator[dict[Any, str]]:
    import pandas as pd

    try:
        chunks = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False, index_col=False, chunksize=_ROWS_AT_ONCE)
        with chunks:
            for chunk in chunks:
                absent = [name for name in _COLUMNS if name not in chunk]
                if absent:
                    raise InvalidValueError(f"{path} is no MMBench file: it lacks the columns {absent}.")
                yield from chunk.to_dict("records")
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise RobustlibError(f"Cannot read the MMBench file {path}: {error}.") from error


def _decode(row: dict[str, str]) -> bytes:
    try:
        return base64.b64decode(row["image"], validate=True)
    except binascii.Error as error:
        raise InvalidValueError(f"Question {row['index']}: its image is not valid base64 ({error}).") from error


def _question(row: dict[str, str], pictures: dict[str, bytes]) -> Question:
    if row["image"] not in pictures:
        raise InvalidValueError(f"Question {row['index']}: its image is {row['image']!r}, but no such row holds one.")
    picture = pictures[row["image"]]
    options = {letter: row[letter] for letter in _LETTERS if row.get(letter)}
    answer = row.get("answer", "")
    return Question(
        id=row["index"],
        image=LazyImage(picture),
        image_id=sha256(picture).hexdigest()[:16],
        text="\n".join(filter(None, [row.get("hint"), row["question"]])),
        kind="choice",
        options=tuple(options.values()),
        label=label_of(answer, options, row["index"]) if answer else -1,
        answers=(options[answer],) if answer else (),
        category=row.get("category", ""),
        dataset="mmbench",
    )
