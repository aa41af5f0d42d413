"""Files of questions of your own: JSONL, CSV or TSV, beside a folder of images; the fields stand in `own`."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from robustlib.data.fields import ImageFolder
from robustlib.data.gathering import Candidate
from robustlib.data.own import AS_JSON, OPTIONAL, REQUIRED, own_question
from robustlib.data.question import FieldError, Question
from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError, did_you_mean

_Read = Callable[[], Mapping[str, Any]]


def load_jsonl(path: Path, split: str) -> Iterator[Candidate]:
    """Yield the questions of a JSONL file; blank lines are passed over, and rows are numbered by line.

    Raises:
        RobustlibError: the file cannot be read.
        InvalidValueError: it holds no rows.
        UnknownNameError: no row is of that split.
    """
    lines = enumerate(_lines(path), 1)
    yield from _candidates(path, split, ((number, partial(_from_json, line)) for number, line in lines if line.strip()))


def load_csv(path: Path, split: str) -> Iterator[Candidate]:
    """Yield the questions of a CSV file, or of a TSV file, whose name ends in ``.tsv``; the first row names the fields.

    Raises:
        RobustlibError: the file cannot be read.
        InvalidValueError: the columns are not fields of `own`, or there are no rows.
        UnknownNameError: no row is of that split.
    """
    try:
        rows = csv.reader(_lines(path), delimiter="\t" if path.suffix == ".tsv" else ",", strict=True)
        names = next(rows, [])
        for name in REQUIRED:
            if name not in names:
                raise InvalidValueError(f"{path} needs a column {name!r}, its columns are {names}.")
        if len(set(names)) < len(names):
            raise InvalidValueError(f"{path} has more than one column of a name: {names}.")
        _check_names(names, f"{path}: the column")
        cells = ((number, partial(_from_cells, names, row)) for number, row in enumerate(rows, 1) if row)
        yield from _candidates(path, split, cells)
    except csv.Error as error:
        raise RobustlibError(f"Cannot read the data file {path}: {error}.") from error


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            yield from stream
    except (OSError, UnicodeDecodeError) as error:
        raise RobustlibError(f"Cannot read the data file {path}: {error}.") from error


def _check_names(names: Iterable[str], what: str) -> None:
    known = [*REQUIRED, *OPTIONAL]
    for name in names:
        if name not in known:
            raise InvalidValueError(
                f"{what} {name!r} is unknown.{did_you_mean(name, known)} Known: {', '.join(known)}."
            )


def _from_json(line: str) -> Mapping[str, Any]:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(f"the line is no JSON: {error}.") from error
    if not isinstance(values, dict):
        raise InvalidValueError(f"the line must be a JSON object, got {values!r}.")
    _check_names(values, "the field")
    return values


def _from_cells(names: list[str], cells: list[str]) -> Mapping[str, Any]:
    if len(cells) != len(names):
        raise InvalidValueError(f"there are {len(cells)} cells under {len(names)} columns.")
    values: dict[str, Any] = {name: cell for name, cell in zip(names, cells, strict=True) if cell}
    for name in values.keys() & set(AS_JSON):
        try:
            values[name] = json.loads(values[name])
        except (ValueError, RecursionError) as error:
            raise FieldError(name, f'must be JSON, such as ["a", "b"] or 0, got {values[name]!r}.') from error
    return values


def _candidates(path: Path, split: str, rows: Iterable[tuple[int, _Read]]) -> Iterator[Candidate]:
    folder = ImageFolder(path.parent)
    others: set[str] = set()
    empty = True
    for number, read in rows:
        try:
            values = read()
        except InvalidValueError as error:
            yield Candidate(path, number, partial(_raise, error))
            empty = False
            continue
        own = values.get("split") or split
        if own == split:
            yield Candidate(path, number, partial(own_question, values, folder, path.stem))
            empty = False
        else:
            others.add(str(own))
    if empty and not others:
        raise InvalidValueError(f"{path} holds no rows.")
    if empty:
        raise UnknownNameError(f"split of {path}:", split, others)


def _raise(error: InvalidValueError) -> Question:
    raise error
