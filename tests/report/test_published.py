from pathlib import Path

import pytest

from robustlib.data import published
from robustlib.data.published import (
    PublishedDataError,
    published_paths,
    vqa_bench_per_severity,
    vqa_bench_printed,
)


def test_accuracies_are_a_full_grid_with_one_clean_accuracy_per_model() -> None:
    frame = vqa_bench_per_severity()
    assert list(frame.columns) == ["model", "corruption", "severity", "accuracy"]
    levels = frame.groupby(["model", "corruption"])["severity"].apply(list)
    assert all(found == [0, 1, 2, 3, 4, 5] for found in levels)
    assert (frame["model"].nunique(), frame["corruption"].nunique()) == (4, 14)
    assert (frame[frame["severity"] == 0].groupby("model")["accuracy"].nunique() == 1).all()


def test_printed_numbers_keep_their_text() -> None:
    frame = vqa_bench_printed()
    assert frame["table"].value_counts().to_dict() == {"table2": 148, "table1": 96, "table3": 12}
    # A trailing or leading zero is part of what was printed.
    assert {"0.700", "07.85", "0.040", "385"} <= set(frame["printed"])
    assert not frame.isna().any(axis=None)


def test_both_files_name_the_same_models_and_corruptions_in_the_same_order() -> None:
    accuracies, printed = vqa_bench_per_severity(), vqa_bench_printed()
    for name in ("model", "corruption"):
        assert list(accuracies[name].unique()) == [text for text in printed[name].unique() if text]


def test_every_file_says_where_it_comes_from() -> None:
    names = {path.stem for path in published_paths()}
    assert {"vqa_bench_per_severity", "vqa_bench_printed"} <= names
    assert all("# Source: " in path.read_text() for path in published_paths())


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("ViLT,shot_noise,0,71.26\n", "", "335 rows instead of 336"),
        ("ViLT,shot_noise,1,", "ViLT,shot_noise,0,", "a cell twice"),
        ("ViLT,shot_noise,1,", "ViLT,shot_noise,9,", "a severity outside 0 to 5"),
        ("67.425", "674.25", "an accuracy outside 0 to 100 percent"),
        ("severity,accuracy_percent", "level,accuracy_percent", "the columns"),
    ],
)
def test_a_damaged_file_is_noticed(
    old: str, new: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (published._FOLDER / "vqa_bench_per_severity.csv").read_text()
    assert old in text
    (tmp_path / "vqa_bench_per_severity.csv").write_text(text.replace(old, new, 1))
    monkeypatch.setattr(published, "_FOLDER", tmp_path)
    with pytest.raises(PublishedDataError, match=fault):
        vqa_bench_per_severity()
