"""A profile: one small TOML file that says what a sweep asks of which models. Nothing else knows these choices."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError
from robustlib.scoring import FORMS, Form

_FOLDER = Path(__file__).parent / "profiles"


@dataclass(frozen=True)
class Profile:
    """What a sweep asks of which models; every field is checked when the profile is made."""

    name: str
    """Its file's name without the ending, or the path by which it was loaded."""
    dataset: str
    """A name of `robustlib.data.list_datasets()`."""
    split: str
    """A split of that data set."""
    fraction: float
    """Share of the split's questions, stratified by category, in (0, 1]."""
    sampling_seed: int
    """Decides which questions a fraction below 1 takes."""
    models: tuple[str, ...]
    """Names for `robustlib.load_model`, at least one."""
    suites: tuple[str, ...]
    """Corruption suites, each taken whole; empty for the clean images alone."""
    severities: tuple[int, ...]
    """Severities from 1 to 5, at least one; a corruption is asked at those of them that it has."""
    base_seed: int
    """With the image's id it decides what a random corruption draws."""
    batch_size: int
    """Questions a model answers in one call."""
    scoring: Form
    """Form of VQA accuracy: official or simple."""

    def __post_init__(self) -> None:
        for field in fields(self):
            rule, holds = _RULES[field.name]
            value = getattr(self, field.name)
            if not holds(value):
                raise InvalidValueError(f"Profile {self.name}: {field.name} must be {rule}, got {value!r}.")


def list_profiles() -> list[str]:
    """Return the names of the profiles that come with robustlib."""
    return sorted(path.relative_to(_FOLDER).with_suffix("").as_posix() for path in _FOLDER.rglob("*.toml"))


def load_profile(name: str) -> Profile:
    """Load a profile by its name, or a profile file of your own by its path.

    Args:
        name: one of `list_profiles()`, or a path that ends in ``.toml``.

    Raises:
        UnknownNameError: no profile has this name.
        RobustlibError: the file cannot be read.
        InvalidValueError, UnknownNameError: a missing or unknown key, or a value that does not fit; the message names
            the file and the key.
    """
    if name.endswith(".toml"):
        return _read(name, Path(name))
    if name not in list_profiles():
        raise UnknownNameError("profile", name, list_profiles())
    return _read(name, _FOLDER / f"{name}.toml")


def _read(name: str, path: Path) -> Profile:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RobustlibError(f"Cannot read the profile {path}: {error.strerror}.") from error
    except ValueError as error:
        raise InvalidValueError(f"The profile {path} is no valid TOML: {error}.") from error
    expected = {field.name for field in fields(Profile)} - {"name"}
    for key in sorted(values.keys() - expected):
        raise UnknownNameError(f"key in the profile {path}:", key, expected)
    for key in sorted(expected - values.keys()):
        raise InvalidValueError(f"The profile {path} lacks the key {key!r}.")
    fitted: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return Profile(name, **fitted)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_whole(value: object, least: int = 0, most: int = 2**64 - 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


def _is_set_of(is_item: Callable[[object], bool], value: object, least: int = 0) -> bool:
    return isinstance(value, tuple) and all(map(is_item, value)) and len(set(value)) == len(value) >= least


_RULES: dict[str, tuple[str, Callable[[object], bool]]] = {
    "name": ("a name", _is_text),
    "dataset": ("a name", _is_text),
    "split": ("a name", _is_text),
    "fraction": ("a number above 0 and up to 1", _is_share),
    "sampling_seed": ("a whole number from 0 to 2**64 - 1", _is_whole),
    "models": ("a list of one or more different names", partial(_is_set_of, _is_text, least=1)),
    "suites": ("a list of different names", partial(_is_set_of, _is_text)),
    "severities": (
        "a list of one or more different whole numbers from 1 to 5",
        partial(_is_set_of, partial(_is_whole, least=1, most=5), least=1),
    ),
    "base_seed": ("a whole number from 0 to 2**64 - 1", _is_whole),
    "batch_size": ("a whole number from 1", partial(_is_whole, least=1)),
    "scoring": (f"one of {', '.join(FORMS)}", lambda value: value in FORMS),
}
