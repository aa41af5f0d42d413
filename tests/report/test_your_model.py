"""The worked example: its data are whole, and a small part of them goes through the notebook to all three documents."""

import json
import shutil
from pathlib import Path

import pytest

from robustlib.data import load_dataset
from robustlib.sweep import load_profile
from tests.report.test_vqa_notebooks import NOTEBOOKS, run

EXAMPLE = NOTEBOOKS / "your_model"


def test_the_data_set_is_small_and_that_of_easy_vqa() -> None:
    dataset = load_dataset(f"jsonl:{EXAMPLE}/questions.jsonl", "test")
    originals = {question.id: question for question in load_dataset("easy_vqa_choice", "test")}
    assert len(dataset) == 80
    assert len({question.image_id for question in dataset}) == 40
    for question in dataset:
        original = originals[question.id]
        assert (question.text, question.options, question.label) == (original.text, original.options, original.label)
        assert (question.kind, question.category) == (original.kind, original.category)
        assert [image.digest() for image in question.images] == [image.digest() for image in original.images]
    assert sum(path.stat().st_size for path in EXAMPLE.rglob("*")) < 200_000
    assert "Copyright (c) 2019 Victor Zhou" in (EXAMPLE / "LICENSE").read_text()


def test_the_profile_asks_what_the_three_documents_ask() -> None:
    asked = load_profile(str(EXAMPLE / "profile.toml"))
    documents = [load_profile(f"pocket/{name}") for name in ("vqa-bench", "vlm-robustbench", "laya")]
    assert set(asked.suites) == {suite for document in documents for suite in document.suites}
    assert set(asked.families) == {family for document in documents for family in document.families}
    assert set(asked.severities) == {severity for document in documents for severity in document.severities}
    assert asked.no_image


@pytest.mark.filterwarnings("ignore:pocket/vilt has a clean error of 0", "ignore:pocket/vilt gains nothing")
def test_the_notebook_writes_the_tables_of_all_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "mine")
    profile, out = tmp_path / "mine" / "profile.toml", tmp_path / "tables"
    profile.write_text(profile.read_text().replace("images = 16", "images = 3"))
    places = {"profile": str(profile), "out": str(tmp_path / "predictions"), "out_dir": str(out)}
    run("your_model", monkeypatch, settings={"dtype": "float32"}, in_company=3, **places)
    for document, table in (("vqa_bench", "table2"), ("vlm_robustbench", "table3"), ("laya", "main")):
        assert {path.suffix for path in (out / document).glob(f"{table}.*")} == {".csv", ".md", ".tex"}
    record = json.loads((out / "provenance.json").read_text())
    assert record["source"]["profile"]["models"] == [
        {"name": "pocket/vilt", "label": "", "settings": {"dtype": "float32"}}
    ]
    assert record["parameters"]["profile"] == str(profile)
    assert {name.partition("/")[0] for name in record["outputs"]} == {"vqa_bench", "vlm_robustbench", "laya"}
