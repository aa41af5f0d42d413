"""The 133 configurations of VLM-RobustBench (Section 3.2): their order, and which belong together.

Types and categories are those of the corruption suite; low, mid and high are its severities 1, 3 and 5. Arrays of drops
and accuracies have the configurations as their last axis, in the order of `configurations`.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustlib.errors import UnknownNameError

SUITE = "vlm_robustbench"
LEVELS: Mapping[str, int] = MappingProxyType({"low": 1, "mid": 3, "high": 5})
"""The severity of each level."""
BINARY = "binary"
"""The category, and the level, of the transforms that have one severity alone, 1."""
SPATIAL = (
    "upsample",
    "downsample",
    "elastic_transform",
    "zoom_blur",
    "rotate",
    "shear",
    "affine",
    "perspective_transform",
    "pixelate",
)
"""The spatial and resampling corruptions (Appendix B.2)."""


class Configuration(NamedTuple):
    """A corruption at one severity."""

    corruption: str
    severity: int
    level: str
    """"low", "mid", "high" or "binary"."""
    category: str
    """One of ten; "binary" is one of them."""

    def __str__(self) -> str:
        return self.corruption if self.level == BINARY else f"{self.corruption}:{self.level}"


@cache
def configurations() -> tuple[Configuration, ...]:
    """Return the 133 configurations: corruptions in the order of the suite, each from low to high."""
    from robustlib.corruptions import list_corruptions

    found = []
    for corruption in list_corruptions(SUITE):
        levels = {BINARY: 1} if corruption.category == BINARY else LEVELS
        found += [Configuration(corruption.name, at, level, corruption.category) for level, at in levels.items()]
    return tuple(found)


@cache
def level_columns(level: str) -> NDArray[np.intp]:
    """Return the columns of the configurations of a level.

    Raises:
        UnknownNameError: the level is none of "low", "mid", "high", "binary".
    """
    if level not in (*LEVELS, BINARY):
        raise UnknownNameError("level", level, (*LEVELS, BINARY))
    return _read_only([column for column, found in enumerate(configurations()) if found.level == level])


@cache
def corruption_columns() -> Mapping[str, NDArray[np.intp]]:
    """Return, for each of the 49 types, the columns of its configurations."""
    return _columns_by([found.corruption for found in configurations()])


@cache
def category_types() -> Mapping[str, NDArray[np.intp]]:
    """Return, for each of the ten categories, the places of its types among the 49."""
    return _columns_by(list({found.corruption: found.category for found in configurations()}.values()))


@cache
def severity_columns() -> NDArray[np.intp]:
    """Return the columns of low, mid and high for each of the 42 corruptions that have them: 42 x 3."""
    return _read_only(np.stack([level_columns(level) for level in LEVELS], axis=1))


@cache
def spatial_columns() -> NDArray[np.intp]:
    """Return the columns of the spatial and resampling corruptions."""
    return _read_only([column for column, found in enumerate(configurations()) if found.corruption in SPATIAL])


def _columns_by(names: list[str]) -> Mapping[str, NDArray[np.intp]]:
    places: dict[str, list[int]] = {}
    for column, name in enumerate(names):
        places.setdefault(name, []).append(column)
    return MappingProxyType({name: _read_only(columns) for name, columns in places.items()})


def _read_only(columns: list[int] | NDArray[np.intp]) -> NDArray[np.intp]:
    array = np.array(columns, dtype=np.intp)
    array.setflags(write=False)
    return array
