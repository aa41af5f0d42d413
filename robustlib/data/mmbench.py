"""MMBench (Liu et al., ECCV 2024) from its TSV files, whose pictures are base64 inside the table.

In files for circular evaluation a question stands once for each order of its options, with an index that is 1,000,000
higher each time. Only the first of these rows holds the picture: the others hold that row's index instead. The rows of
one question share ``meta["circle"]``: it is answered only if all of them are.
"""

import base64
import binascii
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from robustlib.data.fields import options_of, text_of
from robustlib.data.gathering import Candidate
from robustlib.data.images import LazyImage
from robustlib.data.question import FieldError, Question, label_of
from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError

_LETTERS = "ABCDE"
_OPTIONS = "A-E"
_LONGEST_INDEX = 64  # characters; every picture has more
_COLUMNS = ("index", "question", "A", "B", "image")
_TURN = 1_000_000
_ROWS_AT_ONCE = 256


def load(path: Path, split: str) -> Iterator[Candidate]:
    """Yield the questions of a file, in its order; a hint stands on a line before its question.

    Args:
        path: a TSV file.
        split: "dev" or "test", whose questions have no right answer; a file without the column ``split`` is of any.

    Raises:
        RobustlibError: the file cannot be read.
        InvalidValueError: a column is missing, or the first row has more cells than the header.
        UnknownNameError: no row is of that split.
    """
    rows, pictures = [], {}
    for number, row in enumerate(_rows(path), 1):
        if len(row["image"]) > _LONGEST_INDEX:
            pictures[row["index"]] = row["image"]
            row["image"] = row["index"]
        rows.append((number, row))
    wanted = [(number, row) for number, row in rows if row.get("split", split) == split]
    if not wanted:
        raise UnknownNameError(f"split of {path}:", split, {row["split"] for _, row in rows if "split" in row})
    decode = lru_cache(maxsize=None)(_decode)
    for number, row in wanted:
        yield Candidate(path, number, partial(_question, row, pictures, decode))


def _rows(path: Path) -> Iterator[dict[Any, str]]:
    import pandas as pd

    try:
        chunks = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False, chunksize=_ROWS_AT_ONCE)
        with chunks:
            for chunk in chunks:
                absent = [name for name in _COLUMNS if name not in chunk]
                if absent:
                    raise InvalidValueError(f"{path} is no MMBench file: it lacks the columns {absent}.")
                if not isinstance(chunk.index, pd.RangeIndex):  # pandas takes cells too many for names of rows
                    raise InvalidValueError(f"{path} is no MMBench file: its first row has more cells than the header.")
                yield from chunk.to_dict("records")
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise RobustlibError(f"Cannot read the MMBench file {path}: {error}.") from error


def _decode(picture: str) -> LazyImage:
    image = LazyImage(base64.b64decode("".join(picture.split()), validate=True))
    image.check()
    return image


def _picture(row: dict[str, str], pictures: dict[str, str], decode: Callable[[str], LazyImage]) -> LazyImage:
    if row["image"] not in pictures:
        raise FieldError("image", f"Question {row['index']}: its image is {row['image']!r}, but no such row holds one.")
    try:
        return decode(pictures[row["image"]])
    except binascii.Error as error:
        raise FieldError("image", f"Question {row['index']}: its image is not valid base64 ({error}).") from error
    except RobustlibError as error:
        raise FieldError("image", f"Question {row['index']}: {error}") from error


def _question(row: dict[str, str], pictures: dict[str, str], decode: Callable[[str], LazyImage]) -> Question:
    picture = _picture(row, pictures, decode)
    options = {letter: row[letter] for letter in _LETTERS if row.get(letter)}
    texts = options_of({_OPTIONS: tuple(options.values())}, _OPTIONS)
    answer = row.get("answer", "")
    return Question(
        id=text_of(row, "index"),
        image=picture,
        image_id=picture.digest()[:16],
        text="\n".join(filter(None, [row.get("hint"), text_of(row, "question")])),
        kind="choice",
        options=texts,
        label=label_of(answer, options, row["index"]) if answer else -1,
        answers=(options[answer],) if answer else (),
        category=row.get("category", ""),
        dataset="mmbench",
        meta={"circle": str(int(row["index"]) % _TURN)} if row["index"].isdigit() else {},
    )
