"""The third document's own figures: they agree with one another, and our functions give them where the data suffice."""

import numpy as np
import pytest

from robustlib.data.published_laya import laya_printed, laya_summary
from robustlib.metrics.bootstrap import cluster_bootstrap
from robustlib.metrics.families import MAIN_FAMILIES, average_over_datasets

NAMES = {
    "accuracy_ci_low": "accuracy",
    "accuracy_ci_high": "accuracy",
    "chance": "chance_accuracy",
    "majority": "majority_accuracy",
}
"""Columns of the printed tables, by the metric they are of."""


def test_mean_of_the_published_data_sets_is_the_published_mean() -> None:
    published = laya_summary()
    ours = average_over_datasets(published[published["dataset"] != "macro"].assign(model="laya"))
    theirs = published[published["dataset"] == "macro"].set_index(["family", "metric"])["value"]
    compared = ours[ours["family"].isin(MAIN_FAMILIES)].set_index(["family", "metric"])["value"]
    assert len(compared) == 36
    np.testing.assert_allclose(compared, theirs[compared.index], atol=1e-12)


def test_published_change_is_accuracy_less_clean_accuracy_on_the_same_questions() -> None:
    wide = laya_summary().pivot_table(index=["dataset", "family", "variant"], columns="metric", values="value")
    paired = wide[["accuracy", "clean_accuracy", "accuracy_change"]].dropna()
    assert len(paired) == 118
    np.testing.assert_allclose(paired["accuracy"] - paired["clean_accuracy"], paired["accuracy_change"], atol=1e-12)


def test_published_family_accuracy_is_the_mean_of_variants_that_every_question_has() -> None:
    published = laya_summary()
    images = published[(published["family"] == "image") & (published["dataset"] != "macro")]
    for metric in ("accuracy", "flip_rate"):
        rows = images[images["metric"] == metric]
        of_family = rows[rows["variant"] == ""].set_index("dataset")["value"]
        of_variants = rows[rows["variant"] != ""].groupby("dataset")["value"].mean()
        np.testing.assert_allclose(of_family, of_variants[of_family.index], atol=1e-12)


@pytest.mark.parametrize("dataset", ["aokvqa", "scienceqa"])
def test_published_interval_is_ours_where_every_question_has_its_own_image(dataset: str) -> None:
    published = laya_summary()
    clean = published[(published["dataset"] == dataset) & (published["family"] == "clean")]
    (row,) = clean[clean["metric"] == "accuracy"].to_dict("records")
    assert row["groups"] == row["clusters"]
    questions = int(row["groups"])
    correct = np.arange(questions) < round(row["value"] * questions)
    assert cluster_bootstrap(correct, np.arange(questions), np.mean) == pytest.approx(
        (row["low"], row["high"]), abs=0.01
    )


def test_printed_tables_are_the_published_numbers_rounded() -> None:
    """All but two, whose last digit is one too high."""
    printed = laya_printed()
    printed = printed[printed["table"] != "ece_floor"].copy()
    bound = printed["metric"].str.extract("accuracy_ci_(low|high)")[0].fillna("value")
    printed["metric"] = printed["metric"].replace(NAMES)
    printed.loc[printed["metric"] == "chance_accuracy", "family"] = "clean"
    printed.loc[printed["metric"] == "majority_accuracy", "family"] = "text_only"
    cell = ["dataset", "family", "variant", "metric"]
    values = printed.merge(laya_summary(), on=cell, how="left", validate="many_to_one").to_dict("records")
    assert len(values) == 238
    off = []
    for row, column in zip(values, bound, strict=True):
        digits = len(row["printed"].partition(".")[2])
        if not abs(float(row["printed"]) - row[column]) <= 0.5 * 10**-digits + 1e-9:
            off.append((*(row[name] for name in cell), row["printed"]))
    assert off == [
        ("vqav2_yesno", "inject_text", "context", "attack_success_rate", "0.27"),
        ("cauldron_visual7w", "inject_text", "authority", "attack_success_rate", "0.32"),
    ]


def test_printed_floors_leave_three_data_sets_beyond_noise() -> None:
    """Recomputed from the printed ECE and floors: the text says aokvqa, visual7w and vqav2_yesno."""
    floors = laya_printed()
    floors = floors[floors["table"] == "ece_floor"].pivot_table(
        index="dataset", columns="metric", values="printed", aggfunc="first"
    )
    floors = floors.astype(float)
    beyond = floors["ece"] > floors[["floor_p95", "clustered_floor_p95"]].max(axis=1)
    assert set(floors.index[beyond]) == {"aokvqa", "cauldron_visual7w", "vqav2_yesno"}
    np.testing.assert_allclose(floors["ece"] / floors["floor_mean"], floors["ece_over_floor"], atol=0.08)
