"""Questions of your own: a JSONL file, or a CSV or TSV file, beside a folder of images.

Each line of a ``.jsonl`` file is an object, each row of a ``.csv`` or ``.tsv`` file a record, with these fields:

========== ======== =======================================================================================
id         required a text, different in every row
question   required a text
image               path of the image, relative to the file's folder and below it; empty: the question has none
images              instead of ``image``: a list of paths
options             a list of at least 2 different texts, in label order
label               place of the right option, from 0; required with options
answers             a list of reference answers, one per annotator; required without options
kind                "open", "choice" or "yesno"; "choice" where there are options, else "open"
category            a text; tables report by it, and samples keep its shares
image_id            questions that share it share an image: the cluster of intervals; else the path of the image
split               rows of other splits than the one asked for are left out; a file without it is of any split
meta                an object with anything else
========== ======== =======================================================================================

In a CSV or TSV file lists and objects are written as JSON, such as ``["None", "007"]``, and an empty cell is a field
that is not there. Cells are read as text, so "None", "N/A", "007" and "1.0" stay what they are. Another field is an error.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

from robustlib.data.fields import ImageFolder, answers_of, label_in, options_of, text_of
from robustlib.data.gathering import Candidate
from robustlib.data.images import LazyImage
from robustlib.data.question import FieldError, Kind, Question
from robustlib.errors import InvalidValueError, RobustlibError, did_you_mean

_REQUIRED = ("id", "question")
_OPTIONAL = ("image", "images", "options", "label", "answers", "kind", "category", "image_id", "split", "meta")
_AS_JSON = ("images", "options", "label", "answers", "meta")
_Make = Callable[[], Mapping[str, Any]]


def load_jsonl(path: Path, split: str) -> Iterator[Candidate]:
    """Yield the questions of a JSONL file; blank lines are passed over, and rows are numbered by line.

    Raises:
        RobustlibError: the file cannot be read.
    """
    yield from _candidates(path, split, ((n, partial(_from_json, text)) for n, text in _lines(path) if text.strip()))


def load_csv(path: Path, split: str) -> Iterator[Candidate]:
    """Yield the questions of a CSV file, or of a TSV file, whose name ends in ``.tsv``; the first row names the fields.

    Raises:
        RobustlibError: the file cannot be read.
        InvalidValueError: the columns are not those of the table above.
    """
    rows = csv.reader((text for _, text in _lines(path)), delimiter="\t" if path.suffix == ".tsv" else ",", strict=True)
    names = next(rows, [])
    for name in [
        *(name for name in _REQUIRED if name not in names),
        *(name for name in names if names.count(name) > 1),
    ]:
        raise InvalidValueError(f"{path} needs exactly one column {name!r}, its columns are {names}.")
    _check_names(names, f"{path}: the column")
    yield from _candidates(path, split, ((n, partial(_from_cells, names, cells)) for n, cells in _records(path, rows)))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            yield from enumerate(stream, 1)
    except (OSError, UnicodeDecodeError) as error:
        raise RobustlibError(f"Cannot read the data file {path}: {error}.") from error


def _records(path: Path, rows: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    try:
        yield from enumerate(rows, 1)
    except csv.Error as error:
        raise RobustlibError(f"Cannot read the data file {path}: {error}.") from error


def _check_names(names: list[str], what: str) -> None:
    known = [*_REQUIRED, *_OPTIONAL]
    for name in names:
        if name not in known:
            raise InvalidValueError(f"{what} {name!r} is unknown.{did_you_mean(name, known)} Known: {known}.")


def _from_json(text: str) -> Mapping[str, Any]:
    try:
        values = json.loads(text)
    except ValueError as error:
        raise InvalidValueError(f"the line is no JSON: {error}.") from error
    if not isinstance(values, dict):
        raise InvalidValueError(f"the line must be a JSON object, got {values!r}.")
    _check_names(list(values), "the field")
    return values


def _from_cells(names: list[str], cells: list[str]) -> Mapping[str, Any]:
    if len(cells) != len(names):
        raise InvalidValueError(f"there are {len(cells)} cells under {len(names)} columns.")
    values: dict[str, Any] = {name: cell for name, cell in zip(names, cells, strict=True) if cell}
    for name in values.keys() & set(_AS_JSON):
        try:
            values[name] = json.loads(values[name])
        except ValueError as error:
            raise FieldError(name, f'must be JSON, such as ["a", "b"] or 0, got {values[name]!r}.') from error
    return values


def _candidates(path: Path, split: str, rows: Iterator[tuple[int, _Make]]) -> Iterator[Candidate]:
    folder = ImageFolder(path.parent)
    for number, read in rows:
        try:
            values = read()
        except InvalidValueError as error:
            yield Candidate(path, number, partial(_raise, error))
        else:
            if values.get("split", split) == split:
                yield Candidate(path, number, partial(_question, values, folder))


def _raise(error: Exception) -> Question:
    raise error


def _question(row: Mapping[str, Any], folder: ImageFolder) -> Question:
    options = () if row.get("options") is None and row.get("label") is None else options_of(row, "options")
    label, answers = label_in(row, "label", options), answers_of(row, "answers")
    if label < 0 if options else not answers:
        raise FieldError("label" if options else "answers", "is missing, so no answer could be scored.")
    names, images = _images(row, folder)
    name = text_of(row, "id")
    return Question(
        id=name,
        image=images[0] if images else None,
        image_id=_text(row, "image_id") or "+".join(names) or name,
        text=text_of(row, "question"),
        kind=_kind(row, options),
        options=options,
        label=label,
        answers=answers or (options[label],),
        category=_text(row, "category"),
        dataset="own",
        meta=_meta(row),
        more_images=tuple(images[1:]),
    )


def _text(row: Mapping[str, Any], field: str) -> str:
    return "" if row.get(field) in (None, "") else text_of(row, field)


def _images(row: Mapping[str, Any], folder: ImageFolder) -> tuple[list[str], list[LazyImage]]:
    field = "image" if row.get("images") is None else "images"
    one = _text(row, "image")
    names = row["images"] if field == "images" else [one] * bool(one)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FieldError(field, f"must be a list of paths, got {names!r}.")
    if one and field == "images":
        raise FieldError(field, "give either image or images, not both.")
    return names, [folder.image(name, field) for name in names]


def _kind(row: Mapping[str, Any], options: tuple[str, ...]) -> Kind:
    kind = _text(row, "kind") or ("choice" if options else "open")
    if kind not in get_args(Kind) or (kind == "choice" and not options):
        raise FieldError("kind", f"must be one of {get_args(Kind)}, and choice needs options, got {kind!r}.")
    return cast(Kind, kind)


def _meta(row: Mapping[str, Any]) -> dict[str, Any]:
    meta = row.get("meta") or {}
    if not isinstance(meta, dict):
        raise FieldError("meta", f"must be an object, got {meta!r}.")
    return meta
