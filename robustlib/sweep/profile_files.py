"""Profiles as small TOML files."""

import os
import tomllib
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError
from robustlib.sweep.profile import DatasetChoice, ModelChoice, Profile

_FOLDER = Path(__file__).parent / "profiles"
_Choice = TypeVar("_Choice", DatasetChoice, Profile)


def list_profiles() -> list[str]:
    """Return the names of the profiles that come with robustlib."""
    return sorted(path.relative_to(_FOLDER).with_suffix("").as_posix() for path in _FOLDER.rglob("*.toml"))


def load_profile(name: str) -> Profile:
    """Load a profile by its name, or a profile file of your own by its path.

    The keys of the file are the fields of `Profile`; those with a default may be left out. Each data set is a table
    ``[[datasets]]`` with the fields of `DatasetChoice`; a relative path in its name, such as "jsonl:mine.jsonl", starts
    at the folder of the profile, and in a profile that comes with robustlib at the folder that holds the package. A
    model is a name, or a table with ``name``, perhaps ``label``, and the settings of its adapter.

    Args:
        name: one of `list_profiles()`, or a path that ends in ``.toml``.

    Raises:
        UnknownNameError: no profile has this name.
        RobustlibError: the file cannot be read.
        InvalidValueError, UnknownNameError: a missing or unknown key, or a value that does not fit; the message names
            the file and the key.
    """
    if name.endswith(".toml"):
        return _read(name, Path(name), Path(name).parent)
    if name not in list_profiles():
        raise UnknownNameError("profile", name, list_profiles())
    return _read(name, _FOLDER / f"{name}.toml", Path(os.path.relpath(_FOLDER.parents[2])))


def _read(name: str, path: Path, data: Path) -> Profile:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RobustlibError(f"Cannot read the profile {path}: {error.strerror}.") from error
    except ValueError as error:
        raise InvalidValueError(f"The profile {path} is no valid TOML: {error}.") from error
    where = f"the profile {path}"
    fitted = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    if _are_tables(fitted.get("datasets")):
        fitted["datasets"] = tuple(
            _fit(DatasetChoice, _at(data, table), f"[[datasets]] of {where}") for table in fitted["datasets"]
        )
    if isinstance(fitted.get("models"), tuple):
        fitted["models"] = tuple(_model(entry, where) for entry in fitted["models"])
    return _fit(Profile, fitted, where, name=name)


def _are_tables(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(table, dict) for table in value)


def _at(folder: Path, table: dict[str, Any]) -> dict[str, Any]:
    """Return the table of a data set with the path in its name, if there is one, as seen from here."""
    known, _, path = str(table.get("name", "")).partition(":")
    return table | {"name": f"{known}:{folder / path}"} if path not in ("", "hub") else table


def _model(entry: object, where: str) -> object:
    """Return a model's choice; what is neither name nor table is left for the profile to refuse."""
    if isinstance(entry, str):
        return ModelChoice(entry)
    if not isinstance(entry, dict):
        return entry
    if "name" not in entry:
        raise InvalidValueError(f"A model of {where} lacks the key 'name': {entry!r}.")
    settings = {key: value for key, value in entry.items() if key not in ("name", "label")}
    return ModelChoice(entry["name"], entry.get("label", ""), settings)


def _fit(kind: type[_Choice], values: dict[str, Any], where: str, **given: Any) -> _Choice:
    """Make a record of values from a file; what is given besides is no key of the file."""
    keys = {field.name: field.default is MISSING for field in fields(kind) if field.name not in given}
    for key in sorted(values.keys() - keys):
        raise UnknownNameError(f"key in {where}:", key, keys)
    for key in keys:
        if keys[key] and key not in values:
            raise InvalidValueError(f"{where[0].upper()}{where[1:]} lacks the key {key!r}.")
    return kind(**values, **given)
