"""Sweeps over all families of perturbations, and what the metrics make of the swept table."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from robustlib import metrics
from robustlib.corruptions import corrupt, image_seed
from robustlib.perturbations import Variant, list_families
from robustlib.sweep import (
    CLEAN,
    family_condition,
    plan_jobs,
    read_manifest,
    read_predictions,
    run_sweep,
)
from tests.metrics.answering import predict
from tests.sweep.options_toys import Ranker, logits_of, options_dataset, options_plan
from tests.sweep.toys import PROFILE, contents

FAMILIES = [family.name for family in list_families()]
ALL_FAMILIES = [CLEAN, *map(family_condition, FAMILIES)]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All families, asked of questions with options."""
    out = tmp_path_factory.mktemp("families")
    run_sweep(options_plan(ALL_FAMILIES), out)
    return out


@pytest.fixture(scope="module")
def rows(swept: Path) -> pd.DataFrame:
    return read_predictions(swept)


def score_variant(variant: Variant) -> list[float]:
    """What the ranker says of a variant whose image this test makes itself."""
    pixels = variant.question.pixels()
    if variant.operation:
        assert pixels is not None
        pixels = corrupt(pixels, variant.operation, 1, image_seed(PROFILE.base_seed, variant.question.image_id))
    return logits_of(pixels, variant.question.text, variant.question.options)


@pytest.fixture(scope="module")
def one_by_one() -> pd.DataFrame:
    """The same table, made by asking every variant alone."""
    return predict(options_dataset().questions, FAMILIES, score_variant, model="toy/ranker")


def test_a_sweep_is_what_asking_every_variant_alone_gives(rows: pd.DataFrame, one_by_one: pd.DataFrame) -> None:
    assert set(rows.family) == {"clean", *FAMILIES}
    ours = rows.sort_values(["family", "question_id"], ignore_index=True)
    theirs = one_by_one.sort_values(["family", "question_id"], ignore_index=True)
    for column in theirs.columns:
        if column in ("logits", "probs", "confidence"):
            pairs = zip(ours[column], theirs[column], strict=True)
            assert all(np.allclose(own, other, rtol=0, atol=1e-12) for own, other in pairs), column
        else:
            assert list(map(as_list, ours[column])) == list(map(as_list, theirs[column])), column
    assert set(ours.option_mass) == {0.5}
    assert set(ours.rule) == {""}


def as_list(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize(
    ("summary", "families"),
    [
        ("family_summary", set(metrics.MAIN_FAMILIES)),
        ("calibration_summary", set(metrics.MAIN_FAMILIES)),
        ("extension_summary", {family.name for family in list_families() if family.role == "extension"}),
        ("consistency_summary", {"typos"}),
    ],
)
def test_the_metrics_of_families_take_a_swept_table(
    summary: str, families: set[str], rows: pd.DataFrame, one_by_one: pd.DataFrame
) -> None:
    ours, theirs = (getattr(metrics, summary)(table, 20) for table in (rows, one_by_one))
    assert set(ours["family"]) == families
    pd.testing.assert_frame_equal(ours, theirs)


def test_variants_of_a_question_share_its_group_image_and_seed(rows: pd.DataFrame) -> None:
    sources = {question.id: question for question in options_dataset()}
    for row in rows.to_dict("records"):
        source = sources[row["group_id"]]
        assert row["image_id"] == source.image_id
        assert row["seed"] == image_seed(PROFILE.base_seed, source.image_id)
        changed = f"|{row['family']}/{row['variant']}" if row["family"] != "clean" else ""
        assert row["question_id"].partition(":")[0] == source.id + changed


def test_without_a_right_option_nothing_scores(rows: pd.DataFrame) -> None:
    dropped = rows[rows.variant == "drop_gold"]
    assert len(dropped) > 0
    assert set(dropped.label) == {-1}
    assert set(dropped.score) == {0.0}
    assert set(dropped.status) == {"ok"}


@pytest.mark.parametrize("workers", [1, 3])
def test_families_end_with_the_same_bytes_however_they_are_run(swept: Path, tmp_path: Path, workers: int) -> None:
    run_sweep(options_plan(ALL_FAMILIES), tmp_path, workers=workers)
    for path in sorted(tmp_path.rglob("*.parquet"))[::3]:
        path.unlink()
    run_sweep(options_plan(ALL_FAMILIES), tmp_path, workers=workers)
    assert contents(tmp_path) == contents(swept)


def test_a_family_without_applicable_questions_is_an_empty_typed_shard(tmp_path: Path) -> None:
    plan = options_plan(ALL_FAMILIES, dataset=options_dataset(options=False))
    run_sweep(plan, tmp_path)
    counts = {shard["condition"]["variant"]: shard["rows"] for shard in read_manifest(tmp_path)["shards"]}
    empty = {name for name, count in counts.items() if not count}
    assert empty == {"option_order", "option_set", "abstain", "form_choice", "negation", "inject_text", "inject_image"}
    table = read_predictions(tmp_path)
    assert len(table) == sum(counts.values())
    assert set(table.family) == {"clean", *FAMILIES} - empty
    assert metrics.extension_summary(table).empty
    only_empty = options_plan([family_condition("abstain")], dataset=options_dataset(options=False))
    run_sweep(only_empty, tmp_path / "empty")
    assert read_predictions(tmp_path / "empty").dtypes.to_dict() == table.dtypes.to_dict()


def test_several_data_sets_are_kept_apart(tmp_path: Path) -> None:
    datasets = [options_dataset("shapes"), options_dataset("forms", questions=5)]
    plan = plan_jobs(PROFILE, datasets, {"toy/ranker": Ranker()}, [CLEAN, family_condition("text")])
    run_sweep(plan, tmp_path)
    table = read_predictions(tmp_path)
    assert table[table.family == "clean"].groupby("dataset").size().to_dict() == {"shapes": 9, "forms": 5}
    assert set(metrics.family_summary(table, 10).dataset) == {"shapes", "forms"}
    manifest = read_manifest(tmp_path)
    assert {name: about["questions"] for name, about in manifest["datasets"].items()} == {
        "shapes/test": 9,
        "forms/test": 5,
    }
    assert [shard["dataset"] for shard in manifest["shards"]] == ["shapes/test"] * 2 + ["forms/test"] * 2
    run_sweep(options_plan([CLEAN, family_condition("text")]), tmp_path / "alone")
    alone = read_predictions(tmp_path / "alone")
    pd.testing.assert_frame_equal(table[table.dataset == "shapes"], alone)
