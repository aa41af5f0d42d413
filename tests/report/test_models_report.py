"""The table of models, from a real small sweep, and the notebook that prints it."""

from pathlib import Path

import nbformat
import pandas as pd
import pytest

from robustlib.models import load_model
from robustlib.report.models import ALL, accuracy_table, size_table
from robustlib.report.tables import markdown
from robustlib.sweep import DatasetChoice, ModelChoice, Profile, read_predictions, run_sweep
from robustlib.sweep.store import StoreError

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "models.ipynb"
MODELS = ("pocket/vilt", "half", "prior:easy_vqa")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("models")
    profile = Profile(
        name="models",
        datasets=(DatasetChoice("easy_vqa", "test", rows=40), DatasetChoice("easy_vqa_choice", "test", rows=20)),
        models=(
            ModelChoice(MODELS[0]),
            ModelChoice(MODELS[0], label="half", settings={"dtype": "bfloat16"}),
            ModelChoice(MODELS[2]),
        ),
        no_image=True,
    )
    run_sweep(profile, out, workers=1)
    return str(out)


def test_sizes_are_those_of_the_models(source: str) -> None:
    frame = size_table(source).frame.set_index("model")
    count = load_model("pocket/vilt").describe()["parameters"]
    assert isinstance(count, int)
    assert frame.index.tolist() == list(MODELS)
    assert frame["network"].tolist() == ["ViltForQuestionAnswering", "ViltForQuestionAnswering", "none"]
    assert frame["dtype"].tolist() == ["float32", "bfloat16", "int64"]
    assert frame["parameters_millions"].tolist()[:2] == [count / 1e6] * 2
    assert frame["weights_megabytes"].tolist()[:2] == [4 * count / 1e6, 2 * count / 1e6]


def test_a_model_behind_an_endpoint_has_no_known_size(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    record = load_model("openai:gpt").describe()
    manifest = {"models": {"openai:gpt": record}, "shards": [{"model": "openai:gpt"}]}
    monkeypatch.setattr("robustlib.report.models.read_manifest", lambda _source: manifest)
    table = size_table(source)
    assert table.frame[["parameters_millions", "weights_megabytes"]].isna().all(axis=None)
    assert "| openai:gpt | served | served | ? | ? |" in markdown(table).replace("\N{EN DASH}", "?")


def test_accuracies_are_means_over_clean_rows_and_their_counts_add_up(source: str) -> None:
    frame = accuracy_table(source).frame
    rows = read_predictions(source).query("family == 'clean'")
    for _, row in frame.iterrows():
        own = rows[rows["dataset"] == row["dataset"]]
        own = own if row["category"] == ALL else own[own["category"] == row["category"]]
        for model in MODELS:
            scores = own.loc[own["model"] == model, "score"]
            assert len(scores) == row["questions"]
            assert row[model] == pytest.approx(scores.mean())
    whole = frame[frame["category"] == ALL].set_index("dataset")["questions"]
    assert whole.to_dict() == {"easy_vqa": 40, "easy_vqa_choice": 20}
    assert frame["category"].tolist().count("shape") == 2


def test_the_most_accurate_model_of_each_category_is_bold(source: str) -> None:
    table = accuracy_table(source)
    for number, row in table.frame.iterrows():
        best = max(row[model] for model in MODELS)
        assert {model for place, model in table.bold if place == number} == {m for m in MODELS if row[m] == best}


def test_a_folder_without_a_sweep_is_an_error(tmp_path: Path) -> None:
    for table in (size_table, accuracy_table):
        with pytest.raises(StoreError, match="no such folder"):
            table(str(tmp_path / "nowhere"))


def test_the_notebook_shows_speeds_but_writes_none(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(NOTEBOOK.parent)
    runs = []
    for _ in range(2):
        names: dict[str, object] = {}
        for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, f"models, cell {cell.id}", "exec"), names)
            if "parameters" in cell.metadata.get("tags", []):
                names |= {"source": source, "out_dir": str(tmp_path), "timed_questions": 8}
        runs.append({path.name: path.read_bytes() for path in tmp_path.iterdir()})
    assert runs[0] == runs[1]
    stems = ["clean_accuracy", "models"]
    tables = [f"{stem}.{ending}" for stem in stems for ending in ("csv", "md", "tex")]
    assert sorted(runs[0]) == sorted(["provenance.json", *tables])
    assert len(pd.read_csv(tmp_path / "models.csv")) == len(MODELS)
