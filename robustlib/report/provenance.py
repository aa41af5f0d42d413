"""The record beside every table and figure: which notebook made it, with which parameters, from which shards."""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from robustlib.corruptions.catalogue import SEVERITIES
from robustlib.data.published import PUBLISHED, published_paths
from robustlib.errors import InvalidValueError
from robustlib.sweep.explanations import EXPLANATIONS
from robustlib.sweep.held_out import HELD_OUT
from robustlib.sweep.invariance import INVARIANCE
from robustlib.sweep.store import MANIFEST, file_hash, read_manifest, write_record

RECORD = "provenance.json"
PHOTOGRAPHS = "photographs"
"""Source of what is made from no answers at all, but from scikit-image's photographs and the corruptions."""

_PACKAGES = ("robustlib", "numpy", "scipy", "pandas", "matplotlib", "seaborn")


def write_provenance(out_dir: str, notebook: str, parameters: Mapping[str, object], source: str) -> Path:
    """Write ``provenance.json`` for the tables and figures in a folder.

    Args:
        out_dir: the folder that the notebook has filled.
        notebook: the notebook's file, relative to its own folder (where it runs).
        parameters: the parameters it ran with.
        source: ``"published"`` for the authors' printed figures, ``"photographs"`` for those of scikit-image, else the
            predictions folder of a sweep.

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
        "source": _describe_source(source),
        "packages": {name: version(name) for name in _PACKAGES},
        "outputs": {path.relative_to(folder).as_posix(): file_hash(path) for path in outputs},
    }
    return write_record(folder / RECORD, record)


def _describe_source(source: str) -> dict[str, Any]:
    if source == PUBLISHED:
        return {"published": {path.name: file_hash(path) for path in published_paths()}}
    if source == PHOTOGRAPHS:
        return {"photographs": f"scikit-image {version('scikit-image')}", "severities_sha256": file_hash(SEVERITIES)}
    manifest, folder = read_manifest(source), Path(source)
    record = {
        "profile": manifest["profile"],
        "manifest_sha256": file_hash(folder / MANIFEST),
        "shards": {shard["path"]: shard["sha256"] for shard in manifest["shards"]},
    }
    beside = [folder / HELD_OUT / MANIFEST, folder / INVARIANCE, folder / EXPLANATIONS]
    found = {path.relative_to(folder).as_posix(): file_hash(path) for path in beside if path.exists()}
    return record | ({"beside": found} if found else {})
