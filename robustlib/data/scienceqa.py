"""ScienceQA (Lu et al., NeurIPS 2022) from the Parquet files of derek-thomas/ScienceQA or lmms-lab/ScienceQA.

The columns are those of the data set's card: image (empty for about half of the rows), question, choices, answer (the
place of the right choice), hint, subject and others. Its rows have no ids, so they are named by their place.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from robustlib.data.fields import label_in, options_of, text_of
from robustlib.data.gathering import Candidate
from robustlib.data.parquet import ParquetRow, parquet_files, parquet_rows
from robustlib.data.question import Question

_COLUMNS = ("image", "question", "choices", "answer", "hint", "subject")


def load(path: Path, split: str) -> Iterator[Candidate]:
    """Yield the questions with an image; a hint stands on a line before its question.

    Args:
        path: a Parquet file, or a folder of them.
        split: "train", "validation" or "test".

    Raises:
        UnknownNameError, RobustlibError, InvalidValueError: see `parquet_files` and `parquet_rows`.
    """
    start = 0
    for file in parquet_files(path, split):
        row = None
        for row in parquet_rows(file, "ScienceQA", _COLUMNS):
            if row.values["image"]:
                yield Candidate(file, row.number, partial(_question, row, f"{split}-{start + row.number - 1:06d}"))
        start += row.number if row else 0


def _question(row: ParquetRow, name: str) -> Question:
    options = options_of(row.values, "choices")
    label = label_in(row.values, "answer", options)
    image, digest = row.image("image")
    return Question(
        id=name,
        image=image,
        image_id=digest.hex()[:16],
        text="\n".join(filter(None, [row.values["hint"], text_of(row.values, "question")])),
        kind="choice",
        options=options,
        label=label,
        answers=(options[label],) if label >= 0 else (),
        category=row.values["subject"] or "",
        dataset="scienceqa",
    )
