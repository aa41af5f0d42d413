from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from robustlib.errors import InvalidValueError
from robustlib.metrics import (
    AccuracyCube,
    accuracy_cube,
    corruption_summary,
    model_summary,
    severity_submetrics,
    status_shares,
    visual_robustness_error,
)
from robustlib.metrics.vqa_bench_frames import scaled_submetrics

MODELS, CORRUPTIONS, QUESTIONS = ["pocket/vilt", "pocket/blip"], ["snow", "contrast", "pixelate"], 4


@pytest.fixture
def predictions() -> pd.DataFrame:
    """Two models, three corruptions, five severities and the clean images, four questions each."""
    conditions = [("", "clean", "clean", 0)]
    conditions += [("vqa_bench", "corruption", name, level) for name in CORRUPTIONS for level in range(1, 6)]
    rows = [
        {
            "model": model,
            "dataset": "easy_vqa",
            "split": "test",
            "question_id": f"test-{question}",
            "suite": suite,
            "family": family,
            "variant": variant,
            "severity": severity,
            "status": "ok",
            "score": float((question + severity + len(variant) + len(model)) % 3 != 0),
        }
        for model in MODELS
        for suite, family, variant, severity in conditions
        for question in range(QUESTIONS)
    ]
    frame = pd.DataFrame(rows)
    return frame.astype({"severity": "int8"})


def test_cells_are_means_of_their_scores(predictions: pd.DataFrame) -> None:
    cube = accuracy_cube(predictions)
    assert cube.models == tuple(MODELS)
    assert cube.corruptions == tuple(CORRUPTIONS)
    assert cube.questions == QUESTIONS
    assert cube.accuracy.shape == (2, 3, 6)
    for place in np.ndindex(cube.accuracy.shape):
        model, corruption, level = MODELS[place[0]], CORRUPTIONS[place[1]], place[2]
        rows = predictions[(predictions["model"] == model) & (predictions["severity"] == level)]
        rows = rows[rows["variant"].isin(["clean", corruption])]
        assert cube.accuracy[place] == pytest.approx(sum(rows["score"]) / QUESTIONS)
    assert np.array_equal(cube.errors, 1 - cube.accuracy)


def test_the_order_of_rows_does_not_change_a_number(predictions: pd.DataFrame) -> None:
    shuffled = predictions.sample(frac=1, random_state=0)
    found, plain = accuracy_cube(shuffled), accuracy_cube(predictions)
    models = [found.models.index(name) for name in plain.models]
    corruptions = [found.corruptions.index(name) for name in plain.corruptions]
    assert found.accuracy[models][:, corruptions] == pytest.approx(plain.accuracy)


def test_other_suites_and_families_are_left_out(predictions: pd.DataFrame) -> None:
    others = pd.concat(
        [
            predictions.assign(suite="imagenet_c", score=0.0)[predictions["family"] == "corruption"],
            predictions.assign(family="no_image", variant="no_image", score=0.0)[predictions["family"] == "clean"],
        ]
    )
    assert np.array_equal(accuracy_cube(pd.concat([predictions, others])).accuracy, accuracy_cube(predictions).accuracy)
    with pytest.raises(InvalidValueError, match=r"no corruption of suite 'vlm'; they hold \['vqa_bench'\]"):
        accuracy_cube(predictions, suite="vlm")


Change = Callable[[pd.DataFrame], pd.DataFrame]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda p: p[~((p["model"] == "pocket/blip") & (p["variant"] == "snow") & (p["severity"] == 3))],
            r"No accuracy for model pocket/blip, corruption snow, severity 3 \(1 cells",
        ),
        (
            lambda p: p[~((p["model"] == "pocket/vilt") & (p["variant"] == "clean"))],
            "No accuracy for model pocket/vilt, corruption snow, severity 0",
        ),
        (lambda p: p[p["variant"] != "clean"], "No accuracy for model pocket/vilt, corruption snow, severity 0"),
        (lambda p: p.drop(index=17), "has 3 of the 4 questions"),
        (lambda p: pd.concat([p, p.iloc[[9]]]), "Question 'test-1' stands twice in model pocket/vilt, corruption snow"),
        (lambda p: p.assign(score=p["score"] * 100), r"must lie in \[0, 1\], got 100.0 for model"),
        (lambda p: p.assign(score=np.nan), r"must lie in \[0, 1\], got nan"),
        (lambda p: p.drop(columns="score"), r"lack the columns \['score'\]"),
        (lambda p: p.iloc[:0], "got no row at all"),
        (lambda p: p.assign(split=["a", "b"] * (len(p) // 2)), "easy_vqa/a', 'easy_vqa/b'"),
        (lambda p: p[p["variant"] == "clean"], "no corruption of suite 'vqa_bench'; they hold none"),
    ],
)
def test_incomplete_predictions_are_refused(predictions: pd.DataFrame, change: Change, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        accuracy_cube(change(predictions))


def test_a_cube_checks_its_names_and_numbers() -> None:
    accuracy = np.full((1, 2, 6), 0.5)
    with pytest.raises(InvalidValueError, match="all 1 models"):
        AccuracyCube(("a", "b"), ("x", "y"), accuracy, 10)
    with pytest.raises(InvalidValueError, match="all 2 corruptions"):
        AccuracyCube(("a",), ("x",), accuracy, 10)
    with pytest.raises(InvalidValueError, match="not a percentage"):
        AccuracyCube(("a",), ("x", "y"), accuracy * 100, 10)


def test_summaries_put_names_on_the_array_metrics(predictions: pd.DataFrame) -> None:
    cube = accuracy_cube(predictions)
    preferences = [1.0, 0, 0, 0, 2]
    models, corruptions = model_summary(cube, preferences), corruption_summary(cube, preferences)
    assert list(models.index) == MODELS
    assert list(corruptions.index) == CORRUPTIONS
    robustness = visual_robustness_error(cube.errors, preferences)
    assert np.array_equal(models["vre"], robustness.per_model)
    assert np.array_equal(corruptions["vre"], robustness.per_corruption)
    for name, matrix in severity_submetrics(cube.errors).items():
        assert np.array_equal(models[name], matrix.mean(axis=1))
        assert np.array_equal(corruptions[name], matrix.mean(axis=0))
    assert np.array_equal(models["clean_accuracy"], cube.accuracy[:, 0, 0])
    assert "clean_accuracy" not in corruptions


def test_scaled_submetrics_average_to_the_robustness_error(predictions: pd.DataFrame) -> None:
    cube = accuracy_cube(predictions)
    means = scaled_submetrics(cube).mean(axis=1).groupby("model", sort=False).mean()
    assert means.to_numpy() == pytest.approx(visual_robustness_error(cube.errors).per_model)


def test_statuses_are_counted_apart_for_clean_and_corrupted_images(predictions: pd.DataFrame) -> None:
    clean = (predictions["model"] == "pocket/vilt") & (predictions["family"] == "clean")
    first = predictions.index[clean][0]
    predictions.loc[first, "status"] = "no_answer"
    shares = status_shares(predictions).set_index(["model", "images"])
    assert list(shares.columns) == ["rows", "ok", "no_answer", "truncated", "error"]
    assert shares.loc[("pocket/vilt", "clean"), "no_answer"] == 1 / QUESTIONS
    assert shares.loc[("pocket/vilt", "corrupted"), "ok"] == 1
    assert shares.loc[("pocket/blip", "corrupted"), "rows"] == 3 * 5 * QUESTIONS
    with pytest.raises(InvalidValueError, match=r"lack the columns \['status'\]"):
        status_shares(predictions.drop(columns="status"))
