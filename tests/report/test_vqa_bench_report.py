import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from robustlib.data.published import vqa_bench_printed
from robustlib.errors import InvalidValueError
from robustlib.metrics import accuracy_cube, model_summary, visual_robustness_error
from robustlib.report.tables import markdown, write_table
from robustlib.report.vqa_bench import counts_text, status_tables, table1, table2, table3
from robustlib.report.vqa_evidence import Evidence, evidence_of, load_evidence
from robustlib.report.vqa_figure_data import prepare_sizes
from robustlib.report.vqa_figures import plot_sizes
from robustlib.report.vqa_layout import GROUPS, group_of, in_table_order, label_of
from robustlib.report.vqa_reading import reading, reading_of_weightings
from robustlib.sweep.store import SCHEMA, StoreError, file_hash, read_predictions, read_shard, write_shard


def test_table1_has_the_rows_columns_and_extremes_of_the_document(published: Evidence) -> None:
    table = table1(published)
    assert table.frame["model"].tolist() == ["ViLT", "BLIP", "VLE", "PNP", "mean_accuracy", "relative_drop_percent"]
    groups = {column.group: None for column in table.columns if column.group}
    assert list(groups) == ["Noise", "Blur", "Weather", "Image attribute", "Physical", "Digital"]
    # The document underlines the largest: accuracy of BLIP, drop of PNP, brightness, and the drop under shot noise.
    assert table.underlined == {
        (1, "mean_accuracy"),
        (1, "clean_accuracy"),
        (3, "relative_drop_percent"),
        (4, "brightness"),
        (5, "shot_noise"),
    }
    assert table.bold == {
        (3, "mean_accuracy"),
        (3, "clean_accuracy"),
        (0, "relative_drop_percent"),
        (4, "shot_noise"),
        (5, "brightness"),
    }


def test_printed_cells_of_table1_agree_with_the_document_up_to_one_unit(published: Evidence) -> None:
    printed = vqa_bench_printed()
    cells = printed[(printed["table"] == "table1") & (printed["metric"] == "accuracy")]
    theirs = cells["printed"].astype(float).to_numpy().reshape(4, 14)
    ours = table1(published).frame[list(published.cube.corruptions)].to_numpy(dtype=float)[:4]
    assert np.abs(ours - theirs).max() < 0.0015


def test_table2_marks_the_most_robust_model_and_the_strongest_corruption(published: Evidence) -> None:
    table = table2(published)
    names = table.frame["name"].tolist()
    marked = {column: {names[row] for row, name in table.bold if name == column} for column in table.frame.columns}
    assert marked["vre"] == {"ViLT", "shot_noise"}
    assert marked["clean_accuracy"] == {"BLIP"}
    assert marked["average_error"] == {"BLIP", "shot_noise"}
    assert marked["first_drop"] == {"ViLT", "zoom_blur"}


def test_preferences_change_the_robustness_error_and_say_so(published: Evidence) -> None:
    preferences = [0.0, 0.0, 0.0, float(np.log(6)), 0.0]
    expected = visual_robustness_error(published.cube.errors, preferences).per_model
    for table in (table2(published, preferences), table3(published, preferences)):
        assert np.array_equal(table.frame["vre"][:4], expected)
        assert r"$\rho$ 0.10, $\mu$ 0.60, $\Delta$ 0.10" in table.caption
    assert r"$\mathcal{F}$ 0.20" in table2(published).caption


def test_a_sweep_gives_the_numbers_of_its_predictions(sweep_folder: Path) -> None:
    evidence = load_evidence(str(sweep_folder))
    cube = accuracy_cube(read_predictions(sweep_folder))
    assert evidence.cube.questions == 10
    assert evidence.cube.models == ("pocket/vilt", "pocket/blip")
    assert evidence.cube.corruptions == tuple(name for names in GROUPS.values() for name in names)
    assert evidence.cube.corruptions != cube.corruptions  # the sweep ran them in another order
    places = [cube.corruptions.index(name) for name in evidence.cube.corruptions]
    assert np.array_equal(evidence.cube.accuracy, cube.accuracy[:, places])
    frame = table3(evidence).frame
    assert frame["parameters_millions"].tolist() == [2.1, 3.4]
    assert frame["vre"].to_numpy() == pytest.approx(model_summary(cube)["vre"].to_numpy())


def test_answers_about_grey_and_treated_images_change_nothing(sweep_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(sweep_folder, tmp_path / "more")
    manifest = json.loads((folder / "manifest.json").read_bytes())
    grey = {"suite": "vqa_bench_extra", "family": "corruption", "variant": "grayscale", "severity": 1}
    for shard in manifest["shards"][:3] + manifest["shards"][-3:]:
        rows = read_shard(folder / shard["path"]).to_pandas().assign(score=0.0, status="error")
        for name, change in (("treated", {"treatment": "denoise/median@2"}), ("grey", grey)):
            path = folder / shard["path"].replace(".parquet", f"-{name}.parquet")
            write_shard(path, pa.Table.from_pandas(rows.assign(**change), SCHEMA, preserve_index=False), {})
            manifest["shards"].append({"path": path.relative_to(folder).as_posix(), "sha256": file_hash(path)})
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert len(read_predictions(folder, treated=True)) == len(read_predictions(sweep_folder)) + 12 * 10
    more, plain = load_evidence(str(folder)), load_evidence(str(sweep_folder))
    assert (more.cube.corruptions, more.cube.questions) == (plain.cube.corruptions, plain.cube.questions)
    assert np.array_equal(more.cube.accuracy, plain.cube.accuracy)
    assert status_tables(more)[0].frame.equals(status_tables(plain)[0].frame)
    assert counts_text(more) == counts_text(plain)


def test_every_table_of_a_sweep_can_be_written(sweep_folder: Path, tmp_path: Path) -> None:
    evidence = load_evidence(str(sweep_folder))
    tables = [table1(evidence), table2(evidence), table3(evidence), *status_tables(evidence)]
    assert [table.name for table in tables] == ["table1", "table2", "table3", "statuses"]
    for table in tables:
        csv, _, _ = write_table(table, tmp_path)
        pd.testing.assert_frame_equal(pd.read_csv(csv), table.frame, check_exact=True, check_dtype=False)
        assert "nan" not in markdown(table).lower()


def test_the_share_of_unanswered_questions_stands_beside_the_accuracies(sweep_folder: Path) -> None:
    (table,) = status_tables(load_evidence(str(sweep_folder)))
    assert table.frame["rows"].tolist() == [10, 700, 10, 700]
    assert table.frame["no_answer"].tolist() == pytest.approx([0.1] * 4)


def test_published_figures_say_that_their_n_is_stated_and_have_no_statuses(published: Evidence) -> None:
    assert counts_text(published).startswith(
        "Each accuracy is the mean of n = 16,000 questions (as the document states)"
    )
    assert status_tables(published) == []


@pytest.mark.parametrize("count", [1, 2, 4])
def test_tables_work_for_any_number_of_models_and_corruptions(
    evidence_of_size: dict[int, Evidence], count: int, tmp_path: Path
) -> None:
    evidence = evidence_of_size[count]
    for table in (table1(evidence), table2(evidence), table3(evidence)):
        assert len(write_table(table, tmp_path)) == 3
    assert len(table1(evidence).frame) == count + 2
    assert "pocket/model-0" in reading(evidence)
    assert reading_of_weightings(evidence).count(";") == 5


def test_a_perfect_model_is_undefined_in_print_and_does_not_stop_the_tables(published: Evidence) -> None:
    accuracy = published.cube.accuracy.copy()
    accuracy[0] = 1
    perfect = replace(published, cube=replace(published.cube, accuracy=accuracy))
    with pytest.warns(RuntimeWarning, match="ViLT has a clean error of 0"):
        text = markdown(table2(perfect))
    assert "| model | ViLT | **1.000** | **1.000** | **0.000** | \N{EN DASH} | \N{EN DASH} |" in text
    with pytest.warns(RuntimeWarning, match="ViLT"):
        assert "Strongest corruption by VRE: undefined" in reading(perfect)


def test_reading_follows_the_numbers(published: Evidence) -> None:
    text = reading(published)
    assert "Lowest VRE (most robust): ViLT (0.221); highest: PNP (0.712)." in text
    assert "Strongest corruption by VRE: Shot (0.692); weakest: Brightness (0.200)." in text
    # Section 7.7: ViLT leads under every weighting but one, where average error counts most.
    assert reading_of_weightings(published).count("ViLT") == 5
    assert "BLIP (0.210) with most weight on average error" in reading_of_weightings(published)


def test_a_model_without_a_parameter_count_is_named(sweep_folder: Path) -> None:
    with pytest.raises(InvalidValueError, match=r"No parameter count for \['pocket/blip'\]"):
        evidence_of("a sweep", read_predictions(sweep_folder), {"pocket/vilt": 1e6})


def test_a_model_of_unknown_size_has_a_dash_and_no_point(sweep_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = {"pocket/vilt": {"parameters": "served"}, "pocket/blip": {"parameters": 1_000_000}}
    monkeypatch.setattr("robustlib.report.vqa_evidence.read_manifest", lambda _source: {"models": served})
    evidence = load_evidence(str(sweep_folder))
    assert re.search(r"\| pocket/vilt \| \N{EN DASH} \|", markdown(table3(evidence)))
    assert "from pocket/blip (1.0) to pocket/blip (1.0)" in reading(evidence)
    plot_sizes(prepare_sizes(evidence), "").draw_without_rendering()


def test_a_folder_without_predictions_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such folder"):
        load_evidence(str(tmp_path / "nowhere"))


def test_layout_keeps_the_order_of_the_document_and_puts_others_last() -> None:
    assert in_table_order(["jpeg_compression", "fog", "snow", "frost"]) == ["snow", "jpeg_compression", "fog", "frost"]
    assert (group_of("snow"), group_of("fog")) == ("Weather", "Other")
    assert (label_of("jpeg_compression"), label_of("glass_blur")) == ("JPEG", "Glass blur")
