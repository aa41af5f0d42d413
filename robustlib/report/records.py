"""The provenance records of a folder of tables and figures, read back."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from robustlib.errors import InvalidValueError
from robustlib.report.provenance import RECORD


@dataclass(frozen=True)
class Record:
    """What one notebook left in one folder."""

    root: Path
    place: str
    """The folder, relative to the root, with slashes."""
    content: dict[str, Any]
    """See `robustlib.report.provenance.write_provenance`."""

    @property
    def shown(self) -> list[str]:
        """Its tables and figures, the names of their Markdown and PNG files: those with a number first."""
        return sorted((name for name in self.content["outputs"] if name.endswith((".md", ".png"))), key=_by_number)

    def path(self, name: str) -> Path:
        """Return where one of its files is."""
        return self.root / self.place / name

    def links(self, name: str) -> list[tuple[str, str]]:
        """Return kind and address, relative to the root, of all files of a table or figure."""
        alike = [Path(other) for other in self.content["outputs"] if Path(other).with_suffix("") == _stem(name)]
        return [(_kind(path), quote(f"{self.place}/{path.as_posix()}")) for path in alike]


def read_records(root: Path) -> list[Record]:
    """Return the records below a folder, by their place.

    Raises:
        InvalidValueError: there is none, one is damaged, or an output that one lists is missing.
    """
    paths = sorted(root.rglob(RECORD))
    if not paths:
        raise InvalidValueError(f"There is no {RECORD} below {root}; run the notebooks first.")
    records = [Record(root, path.parent.relative_to(root).as_posix(), _read(path)) for path in paths]
    for record in records:
        for name in record.content["outputs"]:
            if not record.path(name).exists():
                raise InvalidValueError(
                    f"{record.path(RECORD)} lists {name}, which is not there; run its notebook again."
                )
    return records


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except ValueError as error:
        raise InvalidValueError(f"{path} is damaged ({error}); run its notebook again.") from error


def title_of(name: str) -> str:
    """Return the file name of a table or figure as a title."""
    return re.sub(r"_|(?<=[a-z])(?=[0-9])", " ", Path(name).stem).capitalize()


def _kind(path: Path) -> str:
    return {".md": "Markdown", ".tex": "LaTeX"}.get(path.suffix, path.suffix[1:].upper())


def _stem(name: str) -> Path:
    return Path(name).with_suffix("")


def _by_number(name: str) -> tuple[bool, list[str]]:
    """Return a key by which table2 comes before table10, and both before what has no number."""
    parts = [part.zfill(9) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
    return not name.startswith(("figure", "table")), parts
