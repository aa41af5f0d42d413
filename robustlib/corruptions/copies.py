"""The record of corrupted copies on disk: a journal while they are being made, a manifest once all are there."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tqdm import tqdm

from robustlib.errors import InvalidValueError, RobustlibError
from robustlib.files import write_atomically

MANIFEST = "manifest.json"
JOURNAL = "manifest.journal"

Record = dict[str, Any]
"""Of one image: ``sha256`` of the source, ``seed``, and ``copies``, a path to its SHA-256; or why it is ``unreadable``:
its file, or its pixels to a corruption."""


class Journal:
    """What has been done so far. One line an image is added when all its copies are on disk, so a kill loses no more.

    The first line holds the settings, with which all that follows was made.
    """

    def __init__(self, target: Path, settings: Mapping[str, Any]) -> None:
        """Take up an interrupted or a finished run of the same settings, or begin.

        Raises:
            InvalidValueError: the folder holds copies that were made with other settings.
        """
        self._target = target
        self._settings = settings
        self._records = _read_records(target, settings)
        if (target / JOURNAL).exists():  # else they are not ours
            for unfinished in target.rglob(".*.tmp"):
                unfinished.unlink()
        lines = [_line(settings), *(_line([name, record]) for name, record in self._records.items())]
        write_atomically(target / JOURNAL, b"".join(lines))

    def find(self, name: str, sha256: str) -> Record | None:
        """Return the record of an image, if its source is still the same and all its copies are there."""
        record = self._records.get(name)
        if record is None or record["sha256"] != sha256:
            return None
        return record if all((self._target / copy).exists() for copy in record["copies"]) else None

    def add(self, name: str, record: Record) -> None:
        """Note an image as done; an unreadable one is tried again next time."""
        if record is not self._records.get(name) and "unreadable" not in record:
            with (self._target / JOURNAL).open("ab") as stream:
                stream.write(_line([name, record]))
        self._records[name] = record

    def finish(self, names: Iterable[str]) -> dict[str, Any]:
        """Write the manifest of these images, in this order, and remove the journal."""
        records = {name: self._records[name] for name in names}
        manifest = {
            "settings": self._settings,
            "images": {name: record for name, record in records.items() if "unreadable" not in record},
            "unreadable": {name: record["unreadable"] for name, record in records.items() if "unreadable" in record},
        }
        write_atomically(self._target / MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())
        (self._target / JOURNAL).unlink()
        return manifest


def find_differences(target: Path, sources: Mapping[str, str | None], workers: int) -> list[str]:
    """Hash all copies again and compare with the manifest.

    Args:
        target: folder of the copies.
        sources: SHA-256 of each source image that there is now, None where it cannot be read.
        workers: threads.

    Returns:
        One line for each source and each file in the folder that is missing, changed, not to be read, or not in the
        manifest, sorted.

    Raises:
        RobustlibError: the copies are not finished, or there are none.
    """
    if (target / JOURNAL).exists() or not (target / MANIFEST).exists():
        raise RobustlibError(f"{target} holds no finished copies; run without --verify first.")
    manifest = json.loads((target / MANIFEST).read_bytes())
    known = {name: record["sha256"] for name, record in manifest["images"].items()}
    expected = {copy: sha256 for record in manifest["images"].values() for copy, sha256 in record["copies"].items()}
    paths = [path for path in target.rglob("*") if path.is_file() and path != target / MANIFEST]
    with ThreadPoolExecutor(workers) as pool:
        hashes = pool.map(_hash, paths)
        names = (path.relative_to(target).as_posix() for path in paths)
        found = dict(zip(names, tqdm(hashes, desc="Verifying", total=len(paths), unit="file"), strict=True))
    readable = {name: sha256 for name, sha256 in sources.items() if name not in manifest["unreadable"]}
    return sorted([*_compare("source", known, readable), *_compare("copy", expected, found)])


def _hash(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _compare(kind: str, expected: Mapping[str, str], found: Mapping[str, str | None]) -> Iterable[str]:
    yield from (f"{kind} {name} is missing" for name in expected.keys() - found.keys())
    yield from (f"{kind} {name} is not in the manifest" for name in found.keys() - expected.keys())
    common = expected.keys() & found.keys()
    unread = {name for name in common if found[name] is None}
    yield from (f"{kind} {name} cannot be read" for name in unread)
    yield from (f"{kind} {name} has changed" for name in common - unread if expected[name] != found[name])


def _read_records(target: Path, settings: Mapping[str, Any]) -> dict[str, Record]:
    if (target / JOURNAL).exists():
        whole_lines = (target / JOURNAL).read_bytes().split(b"\n")[:-1]  # what follows the last newline was cut off
        known, *entries = map(json.loads, whole_lines)
        records = dict(entries)
    elif (target / MANIFEST).exists():
        manifest = json.loads((target / MANIFEST).read_bytes())
        known, records = manifest["settings"], manifest["images"]
    else:
        return {}
    if known != settings:
        changed = [key for key in settings if settings[key] != known.get(key)]
        raise InvalidValueError(
            f"{target} holds copies that were made with other settings ({', '.join(changed)}); choose another folder."
        )
    return records


def _line(content: object) -> bytes:
    return json.dumps(content).encode() + b"\n"
