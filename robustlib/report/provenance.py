"""The record beside every table and figure: which notebook made it, with which parameters, from which shards."""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from robustlib.data.published import PUBLISHED, published_paths
from robustlib.errors import InvalidValueError
from robustlib.sweep.store import MANIFEST, file_hash, read_manifest, write_record

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
        "notebook": {"file": Path(notebook).name, "sha256": file_hash(Path(notebook))},
        "parameters": dict(parameters),
        "source": _published_source() if source == PUBLISHED else _predictions_source(source),
        "packages": {name: version(name) for name in _PACKAGES},
        "outputs": {path.relative_to(folder).as_posix(): file_hash(path) for path in outputs},
    }
    return write_record(folder / RECORD, record)


def _published_source() -> dict[str, Any]:
    return {"published": {path.name: file_hash(path) for path in published_paths()}}


def _predictions_source(folder: str) -> dict[str, Any]:
    manifest = read_manifest(folder)
    return {
        "profile": manifest["profile"],
        "manifest_sha256": file_hash(Path(folder) / MANIFEST),
        "shards": {shard["path"]: shard["sha256"] for shard in manifest["shards"]},
    }
