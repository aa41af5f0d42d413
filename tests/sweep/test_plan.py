import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustlib.corruptions import find_corruption, list_corruptions
from robustlib.data import Dataset, LazyImage
from robustlib.errors import InvalidValueError, UnknownNameError
from robustlib.sweep import (
    CLEAN,
    NO_IMAGE,
    Condition,
    DatasetChoice,
    ModelChoice,
    family_condition,
    make_plan,
    plan,
    plan_jobs,
    suite_conditions,
)
from robustlib.sweep.plan import Job
from robustlib.sweep.store import canonical_json
from tests.sweep.toys import CONDITIONS, PROFILE, PixelModel, toy_dataset, toy_plan

MODELS = {"toy/mean": PixelModel("toy/mean")}


def keys(**changes: Any) -> list[str]:
    return [job.key for job in toy_plan(**changes).jobs]


def test_equal_plans_have_equal_keys_and_all_keys_of_a_plan_differ() -> None:
    assert keys() == keys()
    assert len(set(keys())) == len(keys()) == 2 * len(CONDITIONS)


def reworded(dataset: Dataset, **change: Any) -> Dataset:
    return replace(dataset, questions=(replace(dataset.questions[0], **change), *dataset.questions[1:]))


@pytest.mark.parametrize(
    "change",
    [
        {"profile": replace(PROFILE, base_seed=1)},
        {"profile": replace(PROFILE, batch_size=5)},
        {"profile": replace(PROFILE, scoring="simple")},
        {"profile": replace(PROFILE, seeding="sample")},
        {"dataset": toy_dataset(questions=10)},
        {"dataset": toy_dataset(pixel_seed=1)},  # the same texts about other pixels
        {"dataset": reworded(toy_dataset(), image=LazyImage(np.zeros((8, 8, 3), np.uint8)))},
        {"dataset": reworded(toy_dataset(), image_id="image-3")},
        {"dataset": reworded(toy_dataset(), text="Is it dark?")},
        {"dataset": reworded(toy_dataset(), options=("yes", "no"), label=0)},
        {"dataset": reworded(toy_dataset(), answers=("no",) * 10)},
        {"dataset": reworded(toy_dataset(), id="question-12")},
        {"dataset": reworded(toy_dataset(), category="hard")},
        {"dataset": replace(toy_dataset(), name="boy")},
        {"dataset": replace(toy_dataset(), split="train")},
    ],
)
def test_anything_that_could_change_a_shard_changes_every_key(change: dict[str, Any]) -> None:
    assert not set(keys(**change)) & set(keys())


@pytest.mark.parametrize("name", ["code_hash", "versions"])
def test_other_code_or_libraries_change_every_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_keys() -> set[str]:
        return {job.key for job in plan_jobs(PROFILE, [toy_dataset()], MODELS, CONDITIONS).jobs}

    before = full_keys()
    monkeypatch.setattr(plan, name, lambda: "other")
    assert not full_keys() & before


def test_another_model_changes_its_own_keys_alone() -> None:
    class Retrained(PixelModel):
        def describe(self) -> dict[str, str | int | float]:
            return {"fingerprint": "toy/mean 2"}

    pairs = list(zip(toy_plan().jobs, toy_plan(mean=Retrained("toy/mean")).jobs, strict=True))
    assert {old.model for old, new in pairs if old.key != new.key} == {"toy/mean"}
    assert {old.model for old, new in pairs if old.key == new.key} == {"toy/corner"}


def test_other_parameters_of_a_corruption_change_its_keys_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def stronger(name: str) -> Any:
        found = find_corruption(name)
        return replace(found, parameters=({"sigma": 9},) * 5) if found.name == "gaussian_noise" else found

    before = toy_plan().jobs
    monkeypatch.setattr("robustlib.sweep.conditions.find_corruption", stronger)
    changed = {old.condition.variant for old, new in zip(before, toy_plan().jobs, strict=True) if old.key != new.key}
    assert changed == {"gaussian_noise"}


def test_other_parameters_of_an_image_operation_change_the_key_of_its_family_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def other(name: str) -> Any:
        found = find_corruption(name)
        return replace(found, parameters=({"quality": 1},)) if found.key == "meaning_preserving/jpeg20" else found

    families = [CLEAN, *map(family_condition, ("image", "text", "text_only"))]
    before = toy_plan(conditions=families).jobs
    monkeypatch.setattr("robustlib.sweep.conditions.find_corruption", other)
    after = toy_plan(conditions=families).jobs
    changed = {old.condition.family for old, new in zip(before, after, strict=True) if old.key != new.key}
    assert changed == {"image"}


def test_a_profile_is_planned_with_its_conditions_models_and_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []

    def load(name: str, **settings: object) -> PixelModel:
        loaded.append((name, settings))
        return PixelModel(f"{name} {settings}")

    def load_toys(name: str, split: str, fraction: float, seed: int, skip_bad: object) -> Dataset:
        assert (name, fraction, seed, skip_bad) == ("toy", 1.0, 7, None)
        return replace(toy_dataset(), split=split)

    monkeypatch.setattr(plan, "load_model", load)
    monkeypatch.setattr(plan, "load_dataset", load_toys)
    choices = ModelChoice("toy/mean"), ModelChoice("toy/mean", "slow", {"mode": "thinking"})
    profile = replace(
        PROFILE,
        datasets=(DatasetChoice("toy", "test", rows=3), DatasetChoice("toy", "train", rows=99)),
        models=choices,
        sampling_seed=7,
        severities=(5,),
        no_image=True,
        families=("typos",),
    )
    made = make_plan(profile)
    assert loaded == [("toy/mean", {}), ("toy/mean", {"mode": "thinking"})]
    assert {name: len(dataset) for name, dataset in made.datasets.items()} == {"toy/test": 3, "toy/train": 11}
    corruptions = [Condition("imagenet_c", "corruption", found.name, 5) for found in list_corruptions("imagenet_c")]
    expected = [CLEAN, NO_IMAGE, *corruptions, Condition("", "typos", "typos", 0)]
    assert list(dict.fromkeys(job.condition for job in made.jobs)) == expected
    assert list(dict.fromkeys(job.model for job in made.jobs)) == ["toy/mean", "slow"]
    assert len(made.jobs) == len({job.key for job in made.jobs}) == 2 * len(expected) * 2


IDENTITIES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=4), IDENTITIES))
def test_what_is_hashed_can_be_read_back_so_no_two_identities_are_one_text(identity: dict[str, Any]) -> None:
    assert json.loads(canonical_json(identity)) == identity


@settings(deadline=None)
@given(st.text(min_size=1))
def test_no_model_name_leaves_the_output_folder(name: str) -> None:
    path = Job("toy/test", CLEAN, name, {}).path
    assert not path.is_absolute()
    assert ".." not in path.parts
    assert path.parts[0] == "shards"


def test_a_shard_is_named_for_what_it_holds() -> None:
    job = toy_plan().jobs[2]
    assert job.path == Path("shards/toy--mean/toy--test") / f"imagenet_c-gaussian_noise-1-{job.key[:12]}.parquet"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"datasets": (DatasetChoice("easy_vqu", "test"),)}, "Unknown data set 'easy_vqu'. Did you mean 'easy_vqa'"),
        ({"datasets": (DatasetChoice("easy_vqa", "val"),)}, "Unknown split"),
        ({"suites": ("imagenet_d",)}, "Unknown suite of corruptions 'imagenet_d'"),
        ({"families": ("option_ordre",)}, "Unknown family .* 'option_ordre'. Did you mean 'option_order'"),
        ({"models": (ModelChoice("pocket/vlit"),)}, "Unknown model 'pocket/vlit'"),
    ],
)
def test_unknown_names_in_a_profile_are_told(change: dict[str, Any], message: str) -> None:
    profile = replace(
        PROFILE, datasets=(DatasetChoice("easy_vqa", "test", rows=1),), models=(ModelChoice("prior:easy_vqa"),)
    )
    with pytest.raises(UnknownNameError, match=message):
        make_plan(replace(profile, **change))


def test_a_plan_that_asks_nothing_or_asks_twice_is_an_error() -> None:
    with pytest.raises(InvalidValueError, match="got 1, 0 and 7"):
        plan_jobs(PROFILE, [toy_dataset()], {}, CONDITIONS)
    with pytest.raises(InvalidValueError, match="got 0, 1 and 7"):
        plan_jobs(PROFILE, [], MODELS, CONDITIONS)
    with pytest.raises(InvalidValueError, match="The data set toy/test has no questions"):
        plan_jobs(PROFILE, [toy_dataset(questions=0)], MODELS, CONDITIONS)
    with pytest.raises(InvalidValueError, match="The condition clean is planned more than once"):
        plan_jobs(PROFILE, [toy_dataset()], MODELS, [CLEAN, CLEAN])
    with pytest.raises(InvalidValueError, match="The data set toy/test is planned more than once"):
        plan_jobs(PROFILE, [toy_dataset(), toy_dataset(1)], MODELS, CONDITIONS)


def test_a_question_that_cannot_be_scored_is_named() -> None:
    with pytest.raises(InvalidValueError, match="Question question-0 lacks reference answers"):
        toy_plan(dataset=reworded(toy_dataset(), answers=()))
    with pytest.raises(InvalidValueError, match="Question question-0 lacks which of its options is right"):
        toy_plan(dataset=reworded(toy_dataset(), options=("no", "yes")))


def test_what_cannot_be_perturbed_is_told_before_anything_is_asked() -> None:
    one_image = toy_dataset(questions=1)
    with pytest.raises(InvalidValueError, match="image_shuffle needs at least two different images"):
        toy_plan(dataset=one_image, conditions=[CLEAN, family_condition("image_shuffle")])


def test_a_suite_gives_every_corruption_at_the_severities_asked_for() -> None:
    conditions = suite_conditions("imagenet_c", (2, 4))
    assert Condition("imagenet_c", "corruption", "fog", 4) in conditions
    assert len(conditions) == len(set(conditions)) == 2 * len(list_corruptions("imagenet_c"))
    assert {condition.severity for condition in conditions} == {2, 4}


def test_the_code_hash_sees_every_source_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compute: Callable[[], str] = plan.code_hash.__wrapped__
    for room in ("data", "models"):
        (tmp_path / room).mkdir()
    (tmp_path / "seeding.py").write_text("one")
    (tmp_path / "models" / "vilt.py").write_text("two")
    monkeypatch.setattr(plan, "_PACKAGE", tmp_path)
    before = compute()
    assert compute() == before
    (tmp_path / "models" / "vilt.py").write_text("three")
    changed = compute()
    (tmp_path / "models" / "vilt.py").rename(tmp_path / "data" / "vilt.py")
    assert len({before, changed, compute()}) == 3
