"""Parquet files of questions with their images inside, as the hub keeps them; images stay there until asked for."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from robustlib.data.images import LazyImage, StoredImage
from robustlib.data.question import FieldError
from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError

_ROWS_AT_ONCE = 64
_SHARD = re.compile(r"(.*?)(\d+)-of-(\d+).*")
"""How a file is named that holds one part of several."""
_GROUPS_KEPT = 2
"""Row groups whose image columns are kept in memory once read; the hub's hold 100 to 1,000 rows."""


@dataclass(frozen=True)
class ParquetImage(StoredImage):
    """An image in a Parquet file, as the record ``{bytes, path}``, as bytes alone, or in a list of either."""

    file: Path
    group: int
    row: int
    """Within the row group, from 0."""
    column: str
    place: int | None = None
    """Within the list, from 0; None where the column holds no lists."""

    def read(self) -> bytes:
        """Return the encoded image; the column of its row group is kept, so reading in order is fast."""
        try:
            status = os.stat(self.file)
            columns = _columns(self.file, status.st_mtime_ns, status.st_size, self.group)
            if self.column not in columns:
                with pq.ParquetFile(self.file) as table:
                    columns[self.column] = table.read_row_group(self.group, columns=[self.column]).column(self.column)
            cell = columns[self.column][self.row].as_py()
            return _encoded(cell, self.column, self.place)
        except (OSError, LookupError, FieldError, pa.ArrowException) as error:
            raise RobustlibError(f"Cannot read the image {self}: {str(error).rstrip('.')}.") from error

    def __str__(self) -> str:
        return f"{self.column} of row {self.row} in row group {self.group} of {self.file}"


def _encoded(cell: Any, column: str, place: int | None) -> bytes:
    """Return the encoded image of a cell, or of one place of its list."""
    if place is not None:
        if not isinstance(cell, list):
            raise FieldError(column, f"must be a list of images, got {type(cell).__name__}.")
        cell = cell[place]
    found = cell.get("bytes") if isinstance(cell, dict) else cell
    if not found:
        raise FieldError(column, f"its {column} is not in the file.")
    if not isinstance(found, bytes):
        raise FieldError(column, f"must be an image's bytes or a record with them, got {type(found).__name__}.")
    return found


@lru_cache(maxsize=_GROUPS_KEPT)
def _columns(_file: Path, _changed: int, _size: int, _group: int) -> dict[str, Any]:
    """Return what is kept of a row group, by column: at first nothing."""
    return {}


@dataclass(frozen=True)
class ParquetRow:
    """A row: its values, and where it lies."""

    file: Path
    number: int
    """From 1, within the file."""
    group: int
    row: int
    values: dict[str, Any]

    def image(self, column: str, place: int | None = None) -> tuple[LazyImage, bytes]:
        """Return an image, checked but not decoded, and the SHA-256 of its encoded bytes.

        Raises:
            FieldError: it is missing, of another type than bytes or a record with them, or cannot be opened.
        """
        encoded = _encoded(self.values.get(column), column, place)
        try:
            LazyImage(encoded).check()
        except RobustlibError as error:
            raise FieldError(column, str(error)) from error
        return LazyImage(ParquetImage(self.file, self.group, self.row, column, place)), sha256(encoded).digest()


def parquet_rows(file: Path, what: str, needed: Iterable[str]) -> Iterator[ParquetRow]:
    """Yield the rows of a file, a few in memory at a time.

    Raises:
        InvalidValueError: a needed column is missing.
        RobustlibError: the file cannot be read.
    """
    try:
        with pq.ParquetFile(file) as table:
            absent = sorted(set(needed) - set(table.schema_arrow.names))
            if absent:
                raise InvalidValueError(f"{file} is no {what} file: it lacks the columns {absent}.")
            number = 0
            for group in range(table.num_row_groups):
                batches = table.iter_batches(_ROWS_AT_ONCE, row_groups=[group])
                for row, values in enumerate(values for batch in batches for values in batch.to_pylist()):
                    number += 1
                    yield ParquetRow(file, number, group, row, values)
    except (OSError, pa.ArrowException) as error:
        raise RobustlibError(f"Cannot read the {what} file {file}: {error}.") from error


def parquet_files(path: Path, split: str) -> list[Path]:
    """Return a file itself, or those of a split in a folder and the folders below it, by name.

    The hub names them ``train-00000-of-00001.parquet``, or puts them into a folder ``train``.

    Raises:
        RobustlibError: there is no Parquet file, or some of the split are missing.
        UnknownNameError: there is none of that split.
    """
    if not path.is_dir():
        return [path]
    found: dict[str, list[Path]] = {}
    for file in sorted(path.rglob("*.parquet")):
        named = file.stem.split("-")[0]
        found.setdefault(file.parent.name if named.isdigit() else named, []).append(file)
    if not found:
        raise RobustlibError(f"There is no Parquet file in {path}.")
    if split not in found:
        raise UnknownNameError(f"split of {path}:", split, found)
    check_shards(found[split])
    return found[split]


def check_shards(files: Sequence[Path]) -> None:
    """See that no file is missing of those that are numbered ``-00001-of-00003``.

    Raises:
        RobustlibError: one is; the message tells how many of how many are there.
    """
    named = [(file.parent, found) for file in files if (found := _SHARD.fullmatch(file.stem))]
    shards = {(folder, found[1], found[2], found[3]) for folder, found in named}
    counts = Counter((folder, name, total) for folder, name, _, total in shards)
    for (folder, name, total), count in sorted(counts.items()):
        if count < int(total):
            raise RobustlibError(
                f"{folder} holds {count} of the {int(total)} files {name}*-of-{total}; "
                "fetch the others, or give the path of one file."
            )
