import json
import re
from collections import Counter
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robustlib
from robustlib.data import list_datasets
from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError
from robustlib.models.names import locate
from robustlib.models.registry import ADAPTERS, CHAT, Adapter, find_scheme
from robustlib.models.settings import check_settings
from robustlib.sweep import DatasetChoice, ModelChoice, Profile, list_profiles, load_profile
from robustlib.sweep.plan import profile_conditions
from tests.sweep.toys import PROFILE

FAMILIES = {
    "dandelin/vilt-b32-finetuned-vqa": "vilt",
    "Salesforce/blip-vqa-base": "blip",
    "hfl/vle-base-for-vqa": "vle",
}
"""Of checkpoints on the hub; those of the other profiles are chat models."""
TOY = """
models = ["toy/mean", "toy/corner"]
suites = ["imagenet_c"]
severities = [1, 3, 5]
batch_size = 4

[[datasets]]
name = "toy"
split = "test"
"""
FULL = """
models = ["toy/mean", {name = "toy/mean", label = "toy/mean, thinking", mode = "thinking", seed = 7}]
suites = ["imagenet_c"]
corruptions = ["vqa_bench/contrast"]
treatments = ["vqa_bench/jpeg_compression@3"]
severities = [1, 3, 5]
families = ["text", "typos"]
no_image = true
base_seed = 1234
seeding = "sample"
sampling_seed = 0
batch_size = 8
scoring = "simple"
skip_bad = true

[[datasets]]
name = "toy"
split = "test"
fraction = 0.2

[[datasets]]
name = "toy"
split = "train"
rows = 300
"""


def test_a_profile_means_what_its_file_says(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(FULL)
    assert load_profile(str(path)) == Profile(
        name=str(path),
        datasets=(DatasetChoice("toy", "test", fraction=0.2), DatasetChoice("toy", "train", rows=300)),
        models=(
            ModelChoice("toy/mean"),
            ModelChoice("toy/mean", "toy/mean, thinking", {"mode": "thinking", "seed": 7}),
        ),
        sampling_seed=0,
        suites=("imagenet_c",),
        corruptions=("vqa_bench/contrast",),
        treatments=("vqa_bench/jpeg_compression@3",),
        severities=(1, 3, 5),
        families=("text", "typos"),
        no_image=True,
        base_seed=1234,
        seeding="sample",
        batch_size=8,
        scoring="simple",
        skip_bad=True,
    )


def test_what_a_file_leaves_out_has_its_default(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TOY)
    assert asdict(load_profile(str(path))) == asdict(PROFILE) | {"name": str(path)}


@pytest.mark.parametrize("name", list_profiles())
def test_every_profile_of_the_package_loads_under_its_name(name: str) -> None:
    assert load_profile(name).name == name


@pytest.mark.parametrize("name", list_profiles())
def test_every_suite_and_family_of_a_profile_of_the_package_exists(name: str) -> None:
    assert profile_conditions(load_profile(name))


@pytest.mark.parametrize(
    ("document", "conditions"),
    [("vqa-bench", 1 + 14 * 5 + 2), ("vlm-robustbench", 2 + 42 * 3 + 7), ("laya", 1 + 12)],
)
def test_the_pocket_profile_of_a_document_has_all_its_conditions(document: str, conditions: int) -> None:
    assert len(profile_conditions(load_profile(f"pocket/{document}"))) == conditions


def adapter_of(name: str) -> Adapter:
    scheme = find_scheme(name)
    if scheme:
        return scheme[0]
    config = Path(locate(name)) / "config.json"
    family = json.loads(config.read_text())["model_type"] if config.exists() else FAMILIES.get(name, "")
    return ADAPTERS.get(family, CHAT)


@pytest.mark.parametrize("name", list_profiles())
def test_every_data_set_and_model_of_a_profile_of_the_package_can_be_named(name: str) -> None:
    profile = load_profile(name)
    for dataset in profile.datasets:
        known, _, path = dataset.name.partition(":")
        assert (f"{known}:PATH" if path else known) in list_datasets()
    for model in profile.models:
        adapter = adapter_of(model.name)
        module, _, class_name = adapter.path.partition(":")
        check_settings(getattr(import_module(module), class_name), model.settings)
        assert model.settings.get("mode", adapter.modes[0]) in adapter.modes


def test_the_full_profiles_are_the_papers_own_experiments() -> None:
    first, second, third = (load_profile(f"full/{name}") for name in ("vqa-bench", "vlm-robustbench", "laya"))
    assert [len(profile_conditions(profile)) for profile in (first, second, third)] == [1 + 14 * 5 + 2, 135, 1 + 12]
    assert [model.column for model in first.models] == ["ViLT", "BLIP", "VLE", "PNP"]
    assert first.datasets[0].images == 3000
    assert [choice.rows for choice in second.datasets] == [869, 532]
    assert len({model.name for model in second.models}) == 11
    modes = Counter(model.settings["mode"] for model in second.models)
    assert modes == {"direct": 9, "cot": 2, "thinking": 2}
    assert (second.base_seed, second.sampling_seed, second.seeding) == (1234, 42, "sample")
    assert [choice.rows for choice in third.datasets] == [300] * 7
    assert third.sampling_seed == 0


def test_unknown_profiles_and_missing_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown profile 'pocket/vqabench'\. Did you mean 'pocket/vqa-bench'"):
        load_profile("pocket/vqabench")
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
        ("models = ", "modles = ", r"Unknown key in the profile .*mine\.toml: 'modles'\. Did you mean 'models'"),
        ('models = ["toy/mean", "toy/corner"]', "", r"The profile .*mine\.toml lacks the key 'models'"),
        ("batch_size = 4", "batch_size =", r"The profile .*mine\.toml is no valid TOML"),
        ("models =", 'name = "x"\nmodels =', r"Unknown key .* 'name'"),
        ("split =", "spilt =", r"Unknown key in \[\[datasets\]\] of the profile .*: 'spilt'\. Did you mean 'split'"),
        ('split = "test"', "", r"\[\[datasets\]\] of the profile .*mine\.toml lacks the key 'split'"),
        ('"toy/corner"', '{label = "x"}', r"A model of the profile .*mine\.toml lacks the key 'name': {'label': 'x'}"),
    ],
)
def test_a_file_with_wrong_keys_is_named_with_the_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TOY.replace(old, new))
    with pytest.raises((InvalidValueError, UnknownNameError), match=message):
        load_profile(str(path))


WRONG_VALUES = [
    ("datasets", ()),
    ("datasets", "toy"),
    ("datasets", ("toy",)),
    ("datasets", (DatasetChoice("toy", "test"), DatasetChoice("toy", "test", rows=3))),
    ("models", ()),
    ("models", "toy/mean"),
    ("models", (3,)),
    ("models", (ModelChoice("toy/mean"), ModelChoice("toy/mean"))),
    ("models", (ModelChoice("toy/mean"), ModelChoice("toy/corner", "toy/mean"))),
    ("sampling_seed", -1),
    ("sampling_seed", 0.5),
    ("suites", ("",)),
    ("severities", ()),
    ("severities", (0,)),
    ("severities", (6,)),
    ("severities", (True,)),
    ("severities", (1, 1)),
    ("severities", (2.0,)),
    ("severities", 3),
    ("families", "text"),
    ("families", ("text", "text")),
    ("no_image", 1),
    ("base_seed", True),
    ("base_seed", 2**64),
    ("seeding", "question"),
    ("batch_size", 0),
    ("batch_size", "64"),
    ("scoring", "oficial"),
    ("scoring", ["official"]),
    ("skip_bad", 1),
]


@pytest.mark.parametrize(("key", "value"), WRONG_VALUES)
def test_a_wrong_value_is_named_with_its_key_and_the_rule(key: str, value: Any) -> None:
    with pytest.raises(InvalidValueError, match=rf"^Profile toy: {key} must be .+, got {re.escape(repr(value))}\.$"):
        replace(PROFILE, **{key: value})


WRONG_CHOICES = [
    ("name", DatasetChoice("", "test"), ""),
    ("split", DatasetChoice("toy", 3), 3),  # type: ignore[arg-type]  # here and below the mistake under test
    *(("fraction", DatasetChoice("toy", "test", value), value) for value in (0, 1.5, True, "1", float("nan"))),  # type: ignore[arg-type]
    *(("rows", DatasetChoice("toy", "test", rows=value), value) for value in (0, True, 2.0)),  # type: ignore[arg-type]
    *(("images", DatasetChoice("toy", "test", images=value), value) for value in (0, True, 2.0)),  # type: ignore[arg-type]
    ("name", ModelChoice(["toy/mean"]), ["toy/mean"]),  # type: ignore[arg-type]
    ("label", ModelChoice("toy/mean", 3), 3),  # type: ignore[arg-type]
    ("settings", ModelChoice("toy/mean", settings={"mode": ["cot"]}), {"mode": ["cot"]}),
]


@pytest.mark.parametrize(("key", "choice", "value"), WRONG_CHOICES)
def test_a_wrong_value_of_a_choice_is_named_with_its_owner(key: str, choice: Any, value: Any) -> None:
    field, kind = ("datasets", "data set") if isinstance(choice, DatasetChoice) else ("models", "model")
    owner = re.escape(f"Profile toy, {kind} {choice.name!r}: {key} must be ")
    changes: dict[str, Any] = {field: (choice,)}
    with pytest.raises(InvalidValueError, match=rf"^{owner}.+, got {re.escape(repr(value))}\.$"):
        replace(PROFILE, **changes)


@pytest.mark.parametrize(
    "sizes", [{"fraction": 0.5, "rows": 3}, {"rows": 3, "images": 5}, {"fraction": 0.5, "images": 3}]
)
def test_two_sizes_are_one_too_many(sizes: dict[str, Any]) -> None:
    told = " and ".join(map(str, sizes.values()))
    with pytest.raises(InvalidValueError, match=rf"'toy': one of fraction, rows and images, got {re.escape(told)}\."):
        replace(PROFILE, datasets=(DatasetChoice("toy", "test", **sizes),))


def test_paths_of_data_start_at_the_folder_of_the_profile(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    names = ["toy", "mmbench:sub/a b.tsv", "mmbench:/data/c.tsv", "aokvqa:hub"]
    path.write_text(TOY + "".join(f'[[datasets]]\nname = "{name}"\nsplit = "dev"\n' for name in names))
    read = [choice.name for choice in load_profile(str(path)).datasets]
    assert read == ["toy", "toy", f"mmbench:{tmp_path}/sub/a b.tsv", *names[2:]]


def test_paths_of_a_profile_of_the_package_start_where_the_package_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(robustlib.__file__).parents[1]
    for folder, name in ((root, "vqav2:data/vqav2"), (root / "notebooks", "vqav2:../data/vqav2")):
        monkeypatch.chdir(folder)
        assert load_profile("full/vqa-bench").datasets[0].name == name


def test_a_wrong_value_in_a_file_is_named_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TOY.replace("batch_size = 4", 'batch_size = "4"'))
    with pytest.raises(InvalidValueError, match=r"mine\.toml: batch_size must be a whole number .*, got '4'"):
        load_profile(str(path))


@settings(deadline=None)
@given(st.floats(0, 1, exclude_min=True), st.integers(1, 9999), st.sets(st.integers(1, 5), min_size=1))
def test_every_value_in_its_range_is_taken(fraction: float, batch_size: int, severities: set[int]) -> None:
    datasets = (DatasetChoice("toy", "test", fraction),)
    profile = replace(PROFILE, datasets=datasets, batch_size=batch_size, severities=tuple(severities))
    assert profile.severities == tuple(severities)
