"""Treatments: what images go through after the corruption, and what reads the answers about them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robustlib.corruptions import corrupt
from robustlib.errors import InvalidValueError, UnknownNameError
from robustlib.seeding import derive_seed
from robustlib.sweep import CLEAN, Condition, plan_jobs, read_predictions, run_sweep
from robustlib.sweep.conditions import describe_condition, items_of
from robustlib.sweep.plan import profile_conditions
from robustlib.sweep.showing import picture_of, prompts_by_picture
from robustlib.sweep.store import SCHEMA, StoreError
from tests.sweep.toys import PROFILE, PixelModel, pixels_of, toy_dataset

NOISE = Condition("imagenet_c", "corruption", "gaussian_noise", 3)
JPEG = "vqa_bench/jpeg_compression@5"
SEEN = replace(NOISE, treatment=JPEG)


def shown(condition: Condition) -> list[Any]:
    prompts = dict(prompts_by_picture(items_of(toy_dataset().questions, condition, 7, "image")))
    return [prompts[place].image for place in sorted(prompts)]


def test_images_are_corrupted_first_and_treated_then() -> None:
    items = items_of(toy_dataset().questions, SEEN, 7, "image")
    for item, image in zip(items, shown(SEEN), strict=True):
        noisy = corrupt(pixels_of(item.variant.question), "imagenet_c/gaussian_noise", 3, item.seed)
        np.testing.assert_array_equal(image, corrupt(noisy, "vqa_bench/jpeg_compression", 5))
        assert (image != noisy).any()
    cleaned = shown(replace(CLEAN, treatment=JPEG))
    for question, image in zip(toy_dataset(), cleaned, strict=True):
        np.testing.assert_array_equal(image, corrupt(pixels_of(question), "vqa_bench/jpeg_compression", 5))


def test_a_corruption_after_itself_draws_anew() -> None:
    item = items_of(toy_dataset().questions, NOISE, 7, "image")[0]
    twice = shown(replace(NOISE, treatment="imagenet_c/gaussian_noise@3"))[0]
    once = corrupt(pixels_of(item.variant.question), "imagenet_c/gaussian_noise", 3, item.seed)
    assert (twice != corrupt(once, "imagenet_c/gaussian_noise", 3, item.seed)).any()
    again = corrupt(once, "imagenet_c/gaussian_noise", 3, derive_seed("treatment", item.seed))
    np.testing.assert_array_equal(twice, again)


def test_pictures_plans_and_records_tell_treatments_apart() -> None:
    conditions = [NOISE, SEEN, replace(NOISE, treatment="vqa_bench/jpeg_compression@4")]
    pictures = {picture_of(items_of(toy_dataset().questions, condition, 7, "image")[0]) for condition in conditions}
    assert len(pictures) == 3
    jobs = plan_jobs(PROFILE, [toy_dataset()], {"toy/mean": PixelModel("toy/mean")}, conditions).jobs
    assert len({job.key for job in jobs}) == 3
    assert [job.path.name.rpartition("-")[0] for job in jobs[:2]] == [
        "imagenet_c-gaussian_noise-3",
        "imagenet_c-gaussian_noise-3-vqa_bench--jpeg_compression--5",
    ]
    assert describe_condition(SEEN, toy_dataset().questions, 7)["operations"] == [
        {
            "name": "imagenet_c/gaussian_noise",
            "severity": 3,
            "function": "gaussian_noise",
            "parameters": {"sigma": 0.18},
        },
        {
            "name": "vqa_bench/jpeg_compression",
            "severity": 5,
            "function": "jpeg_compression",
            "parameters": {"quality": 7},
        },
    ]


def test_a_profile_asks_every_image_as_it_is_and_after_each_treatment() -> None:
    profile = replace(
        PROFILE,
        suites=(),
        corruptions=("imagenet_c/gaussian_noise", "vqa_bench/contrast"),
        severities=(3, 5),
        treatments=(JPEG, "vqa_bench/contrast@1"),
        no_image=True,
        families=("text",),
    )
    conditions = profile_conditions(profile)
    assert len(conditions) == len(set(map(str, conditions))) == 5 * 3 + 2
    for treatment in profile.treatments:
        asked = [replace(found, treatment="") for found in conditions if found.treatment == treatment]
        assert asked == [
            found for found in conditions if not found.treatment and found.family in ("clean", "corruption")
        ]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"treatments": ("vqa_bench/contrast",)}, InvalidValueError, r"here with one of \(1, 2, 3, 4, 5\), got 'vqa"),
        ({"treatments": ("vqa_bench/contrast@6",)}, InvalidValueError, "suite/name@severity"),
        ({"treatments": ("vqa_bench/contrast@03",)}, InvalidValueError, "suite/name@severity"),
        ({"treatments": ("vqa_bench/contrasts@3",)}, UnknownNameError, "Did you mean 'vqa_bench/contrast'"),
        ({"corruptions": ("vqa_bench/contrasts",)}, UnknownNameError, "Did you mean 'vqa_bench/contrast'"),
        ({"corruptions": ("vqa_bench_extra/grayscale",), "severities": (3,)}, InvalidValueError, r"\(1,\), got \(3,\)"),
    ],
)
def test_what_cannot_be_done_is_refused(change: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        profile_conditions(replace(PROFILE, suites=(), **change))


def test_answers_about_treated_images_are_read_only_when_asked_for(tmp_path: Path) -> None:
    models = {"toy/mean": PixelModel("toy/mean")}
    plain, mixed, treated = ([CLEAN, NOISE], [CLEAN, NOISE, SEEN], [SEEN])
    for name, conditions in (("plain", plain), ("mixed", mixed), ("treated", treated)):
        run_sweep(plan_jobs(PROFILE, [toy_dataset()], models, conditions), tmp_path / name)
    assert read_predictions(tmp_path / "mixed").equals(read_predictions(tmp_path / "plain"))
    scores = read_predictions(tmp_path / "mixed", ["score"])
    assert (list(scores.columns), len(scores)) == (["score"], 22)
    everything = read_predictions(tmp_path / "mixed", treated=True)
    assert list(everything.columns) == SCHEMA.names
    assert everything["treatment"].value_counts().to_dict() == {"": 22, JPEG: 11}
    with pytest.raises(StoreError, match="treated=True"):
        read_predictions(tmp_path / "treated")
