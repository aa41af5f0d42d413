"""MMMU-Pro (Yue et al., ACL 2025) from its Parquet files: standard with 4 or 10 options, or vision.

In the configuration vision the question stands only in the picture. Its options are given as text all the same, as
models are shown every question's options; the benchmark's own prompt leaves them to the picture.
"""

import re
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from string import ascii_uppercase

from robustlib.data.fields import literal_of, text_of, texts_of
from robustlib.data.gathering import Candidate
from robustlib.data.images import LazyImage
from robustlib.data.parquet import ParquetRow, check_shards, parquet_rows
from robustlib.data.question import FieldError, Question, label_of
from robustlib.errors import RobustlibError, UnknownNameError

VISION_TEXT = "Answer the multiple-choice question in the image."
"""Ours: the configuration vision has no text."""
_COLUMNS = {"id", "options", "answer", "subject"}
_NAMED = re.compile(r"<image (\d+)>")


def load(path: Path, split: str) -> Iterator[Candidate]:
    """Yield the questions of a Parquet file, or of all such files in a folder by name.

    A question's images are those that its text and then its options name, as ``<image 4>``, in that order, with the
    names numbered anew to match; where it names none, all that it has.

    Raises:
        RobustlibError: there is no file, one is missing, or it cannot be read.
        InvalidValueError: a column is missing.
        UnknownNameError: another split than "test", the only one.
    """
    if split != "test":
        raise UnknownNameError("split of mmmu_pro", split, ["test"])
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise RobustlibError(f"There is no Parquet file in {path}.")
    check_shards(files)
    for file in files:
        for row in parquet_rows(file, "MMMU-Pro", _COLUMNS):
            yield Candidate(file, row.number, partial(_question, row))


def _question(found: ParquetRow) -> Question:
    row = found.values
    question_id = text_of(row, "id")
    asked = text_of(row, "question") if "question" in row else VISION_TEXT
    texts = [asked, *texts_of({"options": literal_of(row, "options")}, "options")]
    named = [f"image_{number}" for number in dict.fromkeys(_NAMED.findall("\n".join(texts)))]
    names = named or [name for name in row if re.fullmatch(r"image(_\d)?", name) and row[name]] or ["image"]
    text, *options = (
        _NAMED.sub(lambda name: f"<image {names.index(f'image_{name[1]}') + 1}>", original) for original in texts
    )
    images = [_image(found, name) for name in names]
    label = label_of(row["answer"], ascii_uppercase[: len(options)], question_id)
    return Question(
        id=question_id,
        image=images[0][0],
        image_id=sha256(b"".join(digest for _, digest in images)).hexdigest()[:16],
        text=text,
        kind="choice",
        options=tuple(options),
        label=label,
        answers=(options[label],),
        category=text_of(row, "subject"),
        dataset="mmmu_pro",
        more_images=tuple(image for image, _ in images[1:]),
    )


def _image(found: ParquetRow, name: str) -> tuple[LazyImage, bytes]:
    try:
        return found.image(name)
    except FieldError as error:
        raise FieldError(name, f"Question {found.values['id']}: {error.reason}") from error
