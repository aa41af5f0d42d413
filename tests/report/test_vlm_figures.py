"""The figures and pictures of VLM-RobustBench: the right numbers, every text readable."""

import numpy as np
import pandas as pd
import pytest

from robustlib.corruptions import corrupt
from robustlib.metrics.configurations import configurations
from robustlib.report.gallery import load_photograph, make_tile
from robustlib.report.vlm_figures import plot_most_harmful, plot_severity, prepare_most_harmful, prepare_severity
from robustlib.report.vlm_pictures import Pictures, plot_configurations, plot_examples, plot_types, prepare_pictures
from tests.report.readable import read_figure
from tests.report.vlm_run import hand_made_evidence

ONE = 100 / 12  # one question, in points
NOTE = "hand_made/test: n = 12 questions on 6 images."


@pytest.fixture(scope="module")
def pictures() -> Pictures:
    return prepare_pictures("chelsea", 0)


def twice(numbers: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([numbers, numbers.assign(dataset="mmbench/dev")], ignore_index=True)


def test_severity_against_difficulty() -> None:
    numbers = prepare_severity(hand_made_evidence())
    assert list(numbers["level"].unique()) == ["low", "mid", "high", "binary"]
    assert numbers.groupby("level", sort=False)["drop"].is_monotonic_increasing.all()
    highest = numbers.groupby("level")["drop"].max()
    assert highest.to_dict() == pytest.approx(
        {"low": ONE / 2, "mid": 3.5 * ONE, "high": (75 + 2 * ONE) / 2, "binary": -ONE / 2}
    )
    words = read_figure(plot_severity(twice(numbers), NOTE))
    assert NOTE in words
    # every high costs "shaky" two questions, one on average; the worst low costs "sure" one, half of one on average
    assert "hand_made/test: 0 of 42 high configurations cost less than the worst low one" in words
    assert "Largest: upsample fog" in words


def test_the_most_harmful_of_each_level() -> None:
    numbers = prepare_most_harmful(hand_made_evidence(), count=3)
    assert numbers.groupby("level", sort=False)["configuration"].first().tolist() == [
        "fog:low",
        "upsample:mid",
        "upsample:high",
    ]
    assert len(numbers) == 9
    assert NOTE in read_figure(plot_most_harmful(twice(prepare_most_harmful(hand_made_evidence())), NOTE))


def test_pictures_show_every_configuration(pictures: Pictures) -> None:
    assert list(pictures.tiles) == [str(found) for found in configurations()]
    expected = make_tile(corrupt(load_photograph("chelsea"), "vlm_robustbench/fog", 3, 0))
    assert np.array_equal(pictures.tiles["fog:mid"], expected)
    differences = pictures.numbers.set_index("configuration")["mean_absolute_difference"]
    assert (differences.dropna() > 0).all()


def test_pictures_are_readable(pictures: Pictures) -> None:
    examples, types, everything = (
        read_figure(figure)
        for figure in (plot_examples(pictures), plot_types(pictures, "mid"), plot_configurations(pictures))
    )
    for category in ("Noise", "VLM-specific", "Binary"):
        assert category in examples
    for found in configurations():
        assert found.corruption in everything
        assert found.corruption in types.replace("_ ", "_")
    assert "Photograph: chelsea" in everything
