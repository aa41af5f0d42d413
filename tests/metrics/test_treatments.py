"""Gains of treated images: a table worked out by hand, white-box treatment, and what is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from robustlib.corruptions import list_corruptions
from robustlib.errors import InvalidValueError
from robustlib.metrics.bootstrap import cluster_bootstrap
from robustlib.metrics.treatments import ALL, CLEAN, SUITED, WHITE_BOX, suited_treatment, treatment_gains

MEDIAN, DEBLOCK = "denoise/median@2", "denoise/deblock@4"
QUESTIONS, IMAGES = ["a", "b", "c", "d"], ["one", "one", "two", "three"]
RIGHT = {
    (CLEAN, 0, ""): "abcd",
    (CLEAN, 0, MEDIAN): "abc",
    (CLEAN, 0, DEBLOCK): "abcd",
    ("impulse_noise", 3, ""): "a",
    ("impulse_noise", 3, MEDIAN): "abc",
    ("impulse_noise", 3, DEBLOCK): "a",
    ("impulse_noise", 5, ""): "",
    ("impulse_noise", 5, MEDIAN): "bc",
    ("impulse_noise", 5, DEBLOCK): "d",
    ("jpeg_compression", 3, ""): "abc",
    ("jpeg_compression", 3, MEDIAN): "c",
    ("jpeg_compression", 3, DEBLOCK): "abcd",
    ("jpeg_compression", 5, ""): "ab",
    ("jpeg_compression", 5, MEDIAN): "ab",
    ("jpeg_compression", 5, DEBLOCK): "cd",
    ("fog", 3, ""): "ab",
    ("fog", 3, MEDIAN): "",
    ("fog", 3, DEBLOCK): "abc",
    ("fog", 5, ""): "ab",
    ("fog", 5, MEDIAN): "ab",
    ("fog", 5, DEBLOCK): "ab",
}


def predictions(right: dict[tuple[str, int, str], str] | None = None) -> pd.DataFrame:
    """Return a table of one model; its rows are shuffled, so that no order can be relied on."""
    rows = [
        {
            "model": "toy",
            "dataset": "set",
            "split": "test",
            "question_id": question,
            "image_id": image,
            "suite": "" if name == CLEAN else "imagenet_c",
            "family": "clean" if name == CLEAN else "corruption",
            "variant": name,
            "severity": severity,
            "treatment": treatment,
            "score": float(question in known),
        }
        for (name, severity, treatment), known in (RIGHT if right is None else right).items()
        for question, image in zip(QUESTIONS, IMAGES, strict=True)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=0)


def gain_of(gains: pd.DataFrame, corruption: str, treatment: str) -> Any:
    (row,) = gains[(gains["corruption"] == corruption) & (gains["treatment"] == treatment)].to_dict("records")
    return row


def test_gains_are_those_worked_out_by_hand() -> None:
    gains = treatment_gains(predictions())
    expected = {
        (CLEAN, MEDIAN): (100, -25),
        (CLEAN, DEBLOCK): (100, 0),
        (CLEAN, WHITE_BOX): (100, 0),
        ("imagenet_c/impulse_noise", MEDIAN): (12.5, 50),
        ("imagenet_c/impulse_noise", DEBLOCK): (12.5, 12.5),
        ("imagenet_c/impulse_noise", WHITE_BOX): (12.5, 50),
        ("imagenet_c/jpeg_compression", MEDIAN): (62.5, -25),
        ("imagenet_c/jpeg_compression", DEBLOCK): (62.5, 12.5),
        ("imagenet_c/jpeg_compression", WHITE_BOX): (62.5, 12.5),
        ("imagenet_c/fog", MEDIAN): (50, -25),
        ("imagenet_c/fog", DEBLOCK): (50, 12.5),
        ("imagenet_c/fog", WHITE_BOX): (50, 0),
        (ALL, MEDIAN): (125 / 3, 0),
        (ALL, DEBLOCK): (125 / 3, 12.5),
        (ALL, WHITE_BOX): (125 / 3, 62.5 / 3),
    }
    assert len(gains) == len(expected)
    for (corruption, treatment), (accuracy, gain) in expected.items():
        row = gain_of(gains, corruption, treatment)
        assert (row["accuracy"], row["gain"]) == pytest.approx((accuracy, gain))
        assert (row["dataset"], row["model"], row["questions"], row["images"]) == ("set/test", "toy", 4, 3)
    suited = gains.loc[gains["suited"], ["corruption", "treatment"]].to_numpy().tolist()
    assert sorted(suited) == [["imagenet_c/impulse_noise", MEDIAN], ["imagenet_c/jpeg_compression", DEBLOCK]]


def test_intervals_resample_the_gains_of_whole_images() -> None:
    row = gain_of(treatment_gains(predictions(), 500, 3), "imagenet_c/impulse_noise", MEDIAN)
    by_question = [0.0, 100.0, 100.0, 0.0]  # a, b, c, d: the mean of the two severities
    assert (row["gain_low"], row["gain_high"]) == pytest.approx(cluster_bootstrap(by_question, IMAGES, np.mean, 500, 3))


def test_a_treatment_that_suits_nothing_leaves_no_white_box() -> None:
    rows = predictions()
    gains = treatment_gains(rows.replace({"treatment": {MEDIAN: "imagenet_c/fog@1", DEBLOCK: "imagenet_c/fog@2"}}))
    assert set(gains["treatment"]) == {"imagenet_c/fog@1", "imagenet_c/fog@2"}
    assert not gains["suited"].any()
    assert treatment_gains(rows[rows["treatment"] == ""]).empty


def test_every_noise_and_jpeg_of_the_benchmark_has_a_treatment_and_nothing_else_does() -> None:
    known = sorted(set(SUITED.values()))
    strengths = [f"{name}@{severity}" for name in known for severity in (2, 1)]
    suited = {found.name: suited_treatment(found.key, strengths) for found in list_corruptions("vqa_bench")}
    assert {name: treatment for name, treatment in suited.items() if treatment} == {
        "shot_noise": "denoise/median@2",
        "impulse_noise": "denoise/median@2",
        "gaussian_noise": "denoise/nl_means@2",
        "speckle_noise": "denoise/nl_means@2",
        "jpeg_compression": "denoise/deblock@2",
    }
    assert {found.key for found in list_corruptions("denoise")} == set(known)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (predictions().drop(columns="treatment"), r"lack the columns \['treatment'\]"),
        (predictions().iloc[1:], "Every question must be asked .* toy on set/test lacks answers about"),
        (
            predictions({key: known for key, known in RIGHT.items() if key != ("fog", 3, MEDIAN)}),
            "fog of severity 3 after denoise/m",
        ),
        (
            predictions({key: known for key, known in RIGHT.items() if key != ("fog", 3, "")}),
            "about imagenet_c/fog of severity 3 without treatment",
        ),
        (pd.concat([predictions(), predictions().iloc[:1]]), "two answers of toy on set/test"),
        (predictions().assign(image_id="one"), "at least two of them"),
    ],
)
def test_what_cannot_be_paired_is_refused(changed: pd.DataFrame, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        treatment_gains(changed)
