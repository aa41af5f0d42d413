import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError
from robustlib.sweep import Profile, list_profiles, load_profile
from tests.sweep.toys import PROFILE

TOY = """
dataset = "toy"
split = "test"
fraction = 1
sampling_seed = 0
models = ["toy/mean", "toy/corner"]
suites = ["imagenet_c"]
severities = [1, 3, 5]
base_seed = 0
batch_size = 4
scoring = "official"
"""


def test_the_pocket_profile_asks_what_it_says() -> None:
    assert load_profile("pocket") == Profile(
        name="pocket",
        dataset="easy_vqa",
        split="test",
        fraction=0.2,
        sampling_seed=42,
        models=("pocket/vilt", "pocket/blip"),
        suites=("vqa_bench",),
        severities=(1, 2, 3, 4, 5),
        base_seed=0,
        batch_size=64,
        scoring="official",
    )


@pytest.mark.parametrize("name", list_profiles())
def test_every_profile_of_the_package_loads_under_its_name(name: str) -> None:
    assert load_profile(name).name == name


def test_a_profile_file_of_ones_own_loads_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TOY)
    assert asdict(load_profile(str(path))) == asdict(PROFILE) | {"name": str(path)}


def test_unknown_profiles_and_missing_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown profile 'poket'\. Did you mean 'pocket'"):
        load_profile("poket")
    with pytest.raises(RobustlibError, match=r"Cannot read the profile .*none\.toml: No such file"):
        load_profile(str(tmp_path / "none.toml"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "batch_size",
            "bach_size",
            r"Unknown key in the profile .*mine\.toml: 'bach_size'\. Did you mean 'batch_size'",
        ),
        ("base_seed = 0", "", r"The profile .*mine\.toml lacks the key 'base_seed'"),
        ("fraction = 1", "fraction =", r"The profile .*mine\.toml is no valid TOML"),
        ("dataset =", 'name = "x"\ndataset =', r"Unknown key .* 'name'"),
    ],
)
def test_a_file_with_wrong_keys_is_named_with_the_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TOY.replace(old, new))
    with pytest.raises((InvalidValueError, UnknownNameError), match=message):
        load_profile(str(path))


WRONG_VALUES = [
    ("dataset", ""),
    ("dataset", 3),
    ("split", ()),
    ("fraction", 0),
    ("fraction", 1.5),
    ("fraction", True),
    ("fraction", "1"),
    ("fraction", float("nan")),
    ("sampling_seed", -1),
    ("sampling_seed", 0.5),
    ("models", ()),
    ("models", "toy/mean"),
    ("models", ("toy/mean", "toy/mean")),
    ("models", (3,)),
    ("models", (["toy/mean"],)),
    ("suites", ("",)),
    ("severities", ()),
    ("severities", (0,)),
    ("severities", (6,)),
    ("severities", (True,)),
    ("severities", (1, 1)),
    ("severities", (2.0,)),
    ("severities", 3),
    ("base_seed", True),
    ("base_seed", 2**64),
    ("batch_size", 0),
    ("batch_size", "64"),
    ("scoring", "oficial"),
    ("scoring", ["official"]),
]


@pytest.mark.parametrize(("key", "value"), WRONG_VALUES)
def test_a_wrong_value_is_named_with_its_key_and_the_rule(key: str, value: Any) -> None:
    with pytest.raises(InvalidValueError, match=rf"^Profile toy: {key} must be .+, got {re.escape(repr(value))}\.$"):
        replace(PROFILE, **{key: value})


def test_a_wrong_value_in_a_file_is_named_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TOY.replace("batch_size = 4", 'batch_size = "4"'))
    with pytest.raises(InvalidValueError, match=r"mine\.toml: batch_size must be a whole number from 1, got '4'"):
        load_profile(str(path))


@settings(deadline=None)
@given(st.floats(0, 1, exclude_min=True), st.integers(1, 9999), st.sets(st.integers(1, 5), min_size=1))
def test_every_value_in_its_range_is_taken(fraction: float, batch_size: int, severities: set[int]) -> None:
    profile = replace(PROFILE, fraction=fraction, batch_size=batch_size, severities=tuple(severities))
    assert profile.severities == tuple(severities)
