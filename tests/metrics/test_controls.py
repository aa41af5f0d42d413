"""The control that tells a model which looks from one that guesses: by hand, and on the authors' own numbers."""

import pandas as pd
import pytest

from robustlib.data.published_laya import laya_summary
from robustlib.metrics.controls import image_use
from robustlib.metrics.families import family_summary
from tests.metrics.answering import Scorer, predict
from tests.metrics.test_families import QUESTIONS, always_right, by_chance, by_text


def looks(variant_family: str) -> Scorer:
    """Be right unless the image is another, or is missing."""
    return lambda variant: [
        float((place == variant.question.label) == (variant.family != variant_family))
        for place in range(len(variant.question.options))
    ]


def judged(scorer: Scorer) -> "pd.Series[float]":
    table = image_use(family_summary(predict(QUESTIONS, ["image_shuffle", "text_only"], scorer)))
    assert len(table) == 1
    return table.iloc[0]


def test_a_model_that_looks_is_misled_by_another_image() -> None:
    row = judged(looks("image_shuffle"))
    assert (row["clean_accuracy"], row["shuffled_accuracy"], row["no_image_accuracy"]) == (1, 0, 1)
    assert (row["shuffled_change"], row["no_image_change"]) == (-1, 0)
    assert row["uses_image"]
    assert row["beats_majority"]


@pytest.mark.parametrize("scorer", [always_right, by_text, looks("text_only")])
def test_a_model_that_is_the_same_with_another_image_does_not_use_it(scorer: Scorer) -> None:
    assert not judged(scorer)["uses_image"]


def test_noise_is_no_use() -> None:
    row = judged(by_chance)
    assert row["shuffled_change_low"] < 0 < row["shuffled_change_high"]
    assert not row["uses_image"]


def test_the_authors_verdicts_follow_from_their_numbers() -> None:
    """ "The image-shuffle control passes on six of seven sets", and mapqa does not beat its majority."""
    published = laya_summary()
    table = image_use(published[published["dataset"] != "macro"].assign(model="theirs", split="val"))
    assert len(table) == 7
    for verdict in ("uses_image", "beats_majority"):
        assert table.loc[~table[verdict], "dataset"].tolist() == ["cauldron_mapqa"]


def test_without_the_control_there_is_no_verdict() -> None:
    table = image_use(family_summary(predict(QUESTIONS, ["text_only"], by_chance)))
    assert table.empty
    assert table["uses_image"].dtype == bool
