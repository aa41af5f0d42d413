"""A-OKVQA (Schwenk et al., ECCV 2022) from the Parquet files of HuggingFaceM4/A-OKVQA, as multiple choice.

The columns are image, question_id, question, choices, correct_choice_idx (empty in the split test), direct_answers
(a list, or its text) and others.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from robustlib.data.fields import answers_of, label_in, options_of, text_of
from robustlib.data.gathering import Candidate
from robustlib.data.parquet import ParquetRow, parquet_files, parquet_rows
from robustlib.data.question import Question

_COLUMNS = ("image", "question_id", "question", "choices", "correct_choice_idx")


def load(path: Path, split: str) -> Iterator[Candidate]:
    """Yield the questions of a split.

    Args:
        path: a Parquet file, or a folder of them.
        split: "train", "validation" or "test", whose questions have no right answer.

    Raises:
        UnknownNameError, RobustlibError, InvalidValueError: see `parquet_files` and `parquet_rows`.
    """
    for file in parquet_files(path, split):
        for row in parquet_rows(file, "A-OKVQA", _COLUMNS):
            yield Candidate(file, row.number, partial(_question, row))


def _question(row: ParquetRow) -> Question:
    options = options_of(row.values, "choices")
    label = label_in(row.values, "correct_choice_idx", options)
    image, digest = row.image("image")
    return Question(
        id=text_of(row.values, "question_id"),
        image=image,
        image_id=digest.hex()[:16],
        text=text_of(row.values, "question"),
        kind="choice",
        options=options,
        label=label,
        answers=(options[label],) if label >= 0 else (),
        dataset="aokvqa",
        meta={"direct_answers": list(answers_of(row.values, "direct_answers"))},
    )
