"""The made-up predictions of the benchmark, small: what is written is what the evidence holds, counted row by row."""

from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow.parquet as pq
import pytest

from robustlib.report import vlm_evidence, vqa_evidence
from robustlib.sweep import read_manifest
from tests.bench.predictions import SCALES, write_sweep

OPEN = replace(SCALES[0], models=2, questions=30, images=12)
CHOICE = replace(SCALES[1], models=2, questions=20, images=8)


def rows_of(folder: Path, model: str, variant: str, severity: int) -> list[dict[str, Any]]:
    """Return the rows of one shard as plain Python values, read without the project's store."""
    wanted = {"model": model, "variant": variant, "severity": severity}
    shards = read_manifest(folder)["shards"]
    (path,) = (one["path"] for one in shards if wanted.items() <= (one["condition"] | {"model": one["model"]}).items())
    rows: list[dict[str, Any]] = pq.read_table(folder / path).to_pylist()
    assert all(wanted.items() <= {name: row[name] for name in wanted}.items() for row in rows)
    return rows


def share_unread(rows: list[dict[str, Any]]) -> float:
    return fmean(row["status"] == "no_answer" for row in rows)


def test_the_cells_of_the_first_document_are_the_means_of_their_rows(tmp_path: Path) -> None:
    evidence = vqa_evidence.load_evidence(str(write_sweep(OPEN, tmp_path)))
    cube = evidence.cube
    assert (len(cube.models), len(cube.corruptions), cube.questions) == (2, 14, 30)
    assert read_manifest(tmp_path)["rows"] == 2 * 71 * 30
    for place, model in enumerate(cube.models):
        clean = fmean(row["score"] for row in rows_of(tmp_path, model, "clean", 0))
        assert cube.accuracy[place, :, 0] == pytest.approx(clean)
        for corruption, severity in (("snow", 1), ("contrast", 5)):
            scores = [row["score"] for row in rows_of(tmp_path, model, corruption, severity)]
            assert len(scores) == 30
            found = cube.accuracy[place, cube.corruptions.index(corruption), severity]
            assert found == pytest.approx(fmean(scores))
    assert len(set(cube.accuracy.ravel())) > 20
    assert evidence.statuses is not None
    clean_shares = evidence.statuses[evidence.statuses["images"] == "clean"].set_index("model")["no_answer"]
    for model in cube.models:
        assert clean_shares[model] == share_unread(rows_of(tmp_path, model, "clean", 0))
    assert evidence.statuses["no_answer"].max() > 0


def test_the_drops_and_flips_of_the_second_document_are_those_of_their_rows(tmp_path: Path) -> None:
    evidence = vlm_evidence.load_evidence(str(write_sweep(CHOICE, tmp_path)), resamples=20)
    configurations = evidence.frames["configurations"].set_index(["model", "configuration"])
    assert len(configurations) == 2 * 133
    for model in {model for model, _ in configurations.index}:
        clean = {row["question_id"]: row["score"] for row in rows_of(tmp_path, model, "clean", 0)}
        for name, corruption, severity in (("fog:high", "fog", 5), ("flip_v", "flip_v", 1)):
            rows = rows_of(tmp_path, model, corruption, severity)
            lost = [clean[row["question_id"]] - row["score"] for row in rows]
            found = configurations.loc[(model, name)]
            assert found["drop"] == pytest.approx(100 * fmean(lost))
            assert found["flip_plus"] == pytest.approx(100 * fmean(number > 0 for number in lost))
    assert configurations["drop"].nunique() > 5
    statuses = evidence.frames["statuses"].set_index(["condition", "model"])["no_answer"]
    assert statuses.max() > 0
    for model, share in statuses["no_image"].items():
        assert share == pytest.approx(100 * share_unread(rows_of(tmp_path, str(model), "no_image", 0)))
