"""VQAv2 (Goyal et al., CVPR 2017): the official JSON files beside COCO's image folders, or lmms-lab/VQAv2's Parquet.

The official files of a split are ``v2_OpenEnded_mscoco_val2014_questions.json``, with the list ``questions`` of
``{image_id, question, question_id}``, and ``v2_mscoco_val2014_annotations.json``, with the list ``annotations`` of
``{question_id, question_type, answer_type, multiple_choice_answer, answers}``; the images are
``val2014/COCO_val2014_000000000042.jpg``. A Parquet row has all these fields and the image. The ten answers are records
``{answer, answer_confidence, answer_id}``; a plain list of texts is read as well. Test splits have no answers.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from sys import intern
from typing import Any

from robustlib.data.fields import ImageFolder, answers_of, text_of, text_or_empty
from robustlib.data.gathering import Candidate
from robustlib.data.images import LazyImage
from robustlib.data.json_files import array_of
from robustlib.data.parquet import ParquetRow, parquet_files, parquet_rows
from robustlib.data.question import YES_NO, FieldError, Question
from robustlib.errors import InvalidValueError, UnknownNameError

_OFFICIAL = {  # the names of the files, and of the images
    "train": ("train2014", "train2014"),
    "validation": ("val2014", "val2014"),
    "test": ("test2015", "test2015"),
    "testdev": ("test-dev2015", "test2015"),
}
_COLUMNS = ("question_id", "image_id", "question", "image")
_Found = tuple[Path, int, dict[str, Any], Callable[[dict[str, Any]], LazyImage]]
"""File, number and values of a row, and what finds its image."""


def load(path: Path, split: str, yes_no: bool = False) -> Iterator[Candidate]:
    """Yield the questions of a split, of the kind "yesno" where the answer type is yes/no, else "open".

    Args:
        path: the folder of the official files and image folders, or a Parquet file, or a folder with such files.
        split: "train", "validation", "test" or "testdev".
        yes_no: only those whose most common answer is yes or no, with the options "no" and "yes".

    Raises:
        UnknownNameError: another split.
        RobustlibError, InvalidValueError: a file cannot be read, or is not of its format.
    """
    if split not in _OFFICIAL:
        raise UnknownNameError("split of vqav2", split, _OFFICIAL)
    of_parquet = path.is_file() or next(path.rglob("*.parquet"), None)
    for file, number, row, image in _from_parquet(path, split) if of_parquet else _from_json(path, split):
        most = row.get("multiple_choice_answer")
        if not isinstance(most, str) and (yes_no or not split.startswith("test")):
            yield Candidate(file, number, partial(_refuse, row))
        elif not yes_no or most in YES_NO:
            yield Candidate(file, number, partial(_question, row, image, yes_no))


def _from_parquet(path: Path, split: str) -> Iterator[_Found]:
    for file in parquet_files(path, split):
        for row in parquet_rows(file, "VQAv2", _COLUMNS):
            yield file, row.number, row.values, partial(_stored_image, row)


def _from_json(path: Path, split: str) -> Iterator[_Found]:
    files, images = _OFFICIAL[split]
    annotations: dict[str, dict[str, Any]] = {}
    if not split.startswith("test"):
        annotations = _annotations(path / f"v2_mscoco_{files}_annotations.json")
    image = partial(_coco_image, ImageFolder(path / images), images)
    file = path / f"v2_OpenEnded_mscoco_{files}_questions.json"
    for number, row in enumerate(array_of(file, "questions"), 1):
        annotation = annotations.get(str(row.get("question_id")), {})
        yield file, number, row | annotation, image


def _annotations(file: Path) -> dict[str, dict[str, Any]]:
    """Return what is needed of the annotations, by question; equal texts share their memory."""
    found = {}
    for number, row in enumerate(array_of(file, "annotations"), 1):
        try:
            answers = tuple(map(intern, answers_of(row, "answers")))
        except FieldError as error:
            raise InvalidValueError(f"{file}, row {number}: {error}") from error
        texts = {field: row.get(field) for field in ("answer_type", "multiple_choice_answer")}
        shared = {field: intern(text) if isinstance(text, str) else text for field, text in texts.items()}
        found[str(row.get("question_id"))] = {"answers": answers, **shared}
    return found


def _stored_image(found: ParquetRow, _row: dict[str, Any]) -> LazyImage:
    return found.image("image")[0]


def _coco_image(folder: ImageFolder, images: str, row: dict[str, Any]) -> LazyImage:
    number = row.get("image_id")
    if not isinstance(number, int):
        raise FieldError("image_id", f"must be a whole number, got {number!r}.")
    return folder.image(f"COCO_{images}_{number:012d}.jpg", "image_id")


def _refuse(row: dict[str, Any]) -> Question:
    if "multiple_choice_answer" in row:
        raise FieldError("multiple_choice_answer", f"must be a text, got {row['multiple_choice_answer']!r}.")
    raise FieldError("question_id", f"must have an annotation, but {row.get('question_id')!r} has none.")


def _question(row: dict[str, Any], image: Callable[[dict[str, Any]], LazyImage], yes_no: bool) -> Question:
    name = row.get("question_id")
    if not isinstance(name, int):
        raise FieldError("question_id", f"must be a whole number, got {name!r}.")
    kind = text_or_empty(row, "answer_type")
    return Question(
        id=str(name),
        image=image(row),
        image_id=str(row["image_id"]),
        text=text_of(row, "question"),
        kind="yesno" if kind == "yes/no" or yes_no else "open",
        options=YES_NO if yes_no else (),
        label=YES_NO.index(row["multiple_choice_answer"]) if yes_no else -1,
        answers=answers_of(row, "answers"),
        category=kind,
        dataset="vqav2_yesno" if yes_no else "vqav2",
    )
