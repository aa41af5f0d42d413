"""From the rows of a file to questions: every row is checked before any model runs, and bad ones are named."""

import json
import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import overload

from robustlib.data.question import FieldError, Question
from robustlib.errors import InvalidValueError
from robustlib.files import write_atomically

_KEPT_WHOLE = 50_000
"""Questions that are simply kept in memory, at about 1 kB each."""
_BLOCK = 1024
_ZLIB_LEVEL = 1


@dataclass(frozen=True)
class Candidate:
    """A question that a row of a file may come to."""

    file: Path
    row: int
    """1 for the first row of data."""
    make: Callable[[], Question]
    """Raises InvalidValueError where the row is bad, FieldError if a field is to blame."""


@dataclass(frozen=True)
class Fault:
    """A row that is no question, and why."""

    file: str
    row: int
    field: str
    """"" where no single field is to blame."""
    reason: str

    def __str__(self) -> str:
        field = f"field {self.field!r}: " if self.field else ""
        return f"{self.file}, row {self.row}: {field}{self.reason}"


def gather(candidates: Iterable[Candidate], skip_bad: str | PathLike[str] | None = None) -> Sequence[Question]:
    """Return the questions of the good rows, in order.

    Args:
        candidates: the rows.
        skip_bad: a file for the list of bad rows, which are then left out: one JSON object a line with ``file``,
            ``row``, ``field`` and ``reason``. The file is written, if empty, also where no row is bad.

    Raises:
        InvalidValueError: a row is bad and `skip_bad` is not given, or no row is good; the message names file, row and
            field of the first, and counts the others.
    """
    faults: list[Fault] = []
    questions = pack(_good(candidates, faults))
    if skip_bad is not None:
        lines = "".join(json.dumps(asdict(fault)) + "\n" for fault in faults)
        write_atomically(Path(skip_bad), lines.encode())
    if faults and (skip_bad is None or not questions):
        total = f" Bad rows in all: {len(faults)}." if len(faults) > 1 else ""
        raise InvalidValueError(f"{faults[0]}{total}")
    return questions


def _good(candidates: Iterable[Candidate], faults: list[Fault]) -> Iterator[Question]:
    """Yield the questions of the good rows, and put the others on the list."""
    seen: set[str] = set()
    for candidate in candidates:
        try:
            question = candidate.make()
            if question.id in seen:
                raise FieldError("id", f"every question needs an id of its own, but {question.id!r} has 2 rows.")
            if not question.text.strip():
                raise FieldError("question", "the text is empty.")
        except InvalidValueError as error:
            field, reason = getattr(error, "field", ""), getattr(error, "reason", str(error))
            faults.append(Fault(str(candidate.file), candidate.row, field, reason))
        else:
            seen.add(question.id)
            yield question


class PackedQuestions(Sequence[Question]):
    """Many questions in little memory: pickled and compressed in blocks, about 100 bytes each, made anew when asked."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self._length = 0
        self._blocks: list[bytes] = []
        stream = iter(questions)
        while block := tuple(islice(stream, _BLOCK)):
            self._length += len(block)
            self._blocks.append(zlib.compress(pickle.dumps(block, pickle.HIGHEST_PROTOCOL), _ZLIB_LEVEL))

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Question: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Question, ...]: ...
    def __getitem__(self, index: int | slice) -> Question | tuple[Question, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(self._length)))
        place = range(self._length)[index]
        return _unpack(self._blocks[place // _BLOCK])[place % _BLOCK]

    def __iter__(self) -> Iterator[Question]:
        return chain.from_iterable(map(_unpack, self._blocks))


@lru_cache(maxsize=4)
def _unpack(block: bytes) -> tuple[Question, ...]:
    questions: tuple[Question, ...] = pickle.loads(zlib.decompress(block))
    return questions


def pack(questions: Iterable[Question]) -> Sequence[Question]:
    """Return a tuple of few questions, `PackedQuestions` of more."""
    stream = iter(questions)
    first = tuple(islice(stream, _KEPT_WHOLE))
    return first if len(first) < _KEPT_WHOLE else PackedQuestions(chain(first, stream))
