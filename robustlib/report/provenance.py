"""The record beside every table and figure: which notebook made it, with which parameters, from which shards."""

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from robustlib.data.published import published_path
from robustlib.errors import InvalidValueError
from robustlib.files import write_atomically
from robustlib.sweep.store import read_manifest

RECORD = "provenance.json"
_PACKAGES = ("robustlib", "numpy", "scipy", "pandas", "matplotlib", "seaborn")


def write_provenance(out_dir: str, notebook: str, parameters: Mapping[str, object], source: str) -> Path:
    """Write ``provenance.json`` for the tables and figures in a folder.

    Args:
        out_dir: the folder that the notebook has filled.
        notebook: the notebook's file, relative to its own folder (where it runs).
        parameters: the parameters it ran with.
        source: ``"published"`` for the authors' printed figures, else the predictions folder of a sweep.

    Returns:
        The path of the record. It holds no time and no host, so that equal runs leave equal bytes.

    Raises:
        InvalidValueError: the folder holds no table or figure.
    """
    folder = Path(out_dir)
    outputs = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != RECORD)
    if not outputs:
        raise InvalidValueError(f"{folder} holds no table or figure to write a provenance record for.")
    record = {
        "notebook": {"file": Path(notebook).name, "sha256": sha256(Path(notebook))},
        "parameters": dict(parameters),
        "source": _published_source() if source == "published" else _predictions_source(source),
        "packages": {name: version(name) for name in _PACKAGES},
        "outputs": {path.relative_to(folder).as_posix(): sha256(path) for path in outputs},
    }
    target = folder / RECORD
    write_atomically(target, (json.dumps(record, indent=1) + "\n").encode())
    return target


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
