"""What a profile comes to, against what its sweep then leaves."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from robustlib.__main__ import main
from robustlib.models.base import Answer, Prompt
from robustlib.sweep import DatasetChoice, ModelChoice, Profile, load_profile, read_manifest, run_sweep
from robustlib.sweep import forecast as module
from robustlib.sweep.forecast import forecast
from robustlib.sweep.held_out import run_held_out
from robustlib.sweep.plan import BAD_ROWS, load_choice, whole
from robustlib.sweep.sample import measure_speeds
from tests.sweep.toys import PixelModel

PRIOR = Profile(
    name="prior",
    datasets=(DatasetChoice("easy_vqa_choice", "test", rows=40),),
    models=(ModelChoice("prior:easy_vqa_choice"), ModelChoice("prior:easy_vqa_choice", label="again")),
    suites=("meaning_preserving",),
    no_image=True,
    families=("option_order", "text", "image", "typos"),
    batch_size=16,
)
NAME = "easy_vqa_choice/test"


class Failing(PixelModel):
    """Fails at every question."""

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        raise RuntimeError("no more luck")


def test_the_counts_are_those_of_the_sweep(tmp_path: Path) -> None:
    found = forecast(PRIOR)
    run_sweep(PRIOR, tmp_path, workers=1)
    manifest = read_manifest(tmp_path)
    shards = list(tmp_path.rglob("*.parquet"))
    [asked] = found.asked.values()
    assert asked.questions == 40
    assert asked.counted
    assert 2 * asked.rows == manifest["rows"]
    assert found.shards == len(manifest["shards"]) == len(shards)
    assert len(found.conditions) == 2 + 8 + 4
    written = sum(path.stat().st_size for path in shards)
    assert written / 2 < found.bytes < 2 * written
    assert found.missing == {}
    assert set(found.timings) == {"prior:easy_vqa_choice", "again"}
    assert found.timings["again"][NAME].batch == 16
    assert found.seconds > asked.seconds > 0


def test_a_sample_of_whole_images_stands_for_many_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    some = replace(PRIOR, datasets=(DatasetChoice("easy_vqa_choice", "test", rows=900),), suites=())
    exact = forecast(some).asked[NAME]
    monkeypatch.setattr(module, "SAMPLE", 150)
    about = forecast(some).asked[NAME]
    assert exact.counted
    assert not about.counted
    assert (about.questions, about.images) == (exact.questions, exact.images)
    assert about.rows == pytest.approx(exact.rows, rel=0.05)
    assert about.pictures == pytest.approx(exact.pictures, rel=0.15)


@pytest.mark.parametrize("size", [{"fraction": 0.01}, {"rows": 77}, {"images": 9}, {"images": 10**6}])
def test_questions_and_images_are_those_that_are_taken(size: dict[str, int], tmp_path: Path) -> None:
    choice = DatasetChoice("easy_vqa", "test", **size)
    profile = Profile("some", (choice,), (ModelChoice("prior:easy_vqa"),))
    asked = forecast(profile).asked["easy_vqa/test"]
    taken = load_choice(choice, profile, tmp_path)
    assert asked.questions == asked.rows == len(taken)
    assert asked.images == len({question.image_id for question in taken})
    if size == {"images": 9}:
        questions = load_choice(whole(choice), profile, tmp_path)
        images = {question.image_id for question in taken}
        assert len(images) == 9
        assert [question for question in questions if question.image_id in images] == list(taken)


def test_what_is_not_there_is_told_and_the_rest_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = ModelChoice("pocket/none")
    some = replace(PRIOR, datasets=(*PRIOR.datasets, DatasetChoice("jsonl:no.jsonl", "test")), families=())
    found = forecast(replace(some, models=(*PRIOR.models, absent)))
    assert set(found.missing) == {"jsonl:no.jsonl, test", "pocket/none"}
    assert "no.jsonl" in found.missing["jsonl:no.jsonl, test"]
    assert set(found.asked) == {NAME}
    assert set(found.timings) == {"prior:easy_vqa_choice", "again"}
    assert found.shards == (2 + 8) * 2 * 3
    monkeypatch.setattr(module, "load_model", lambda name, **_: Failing(name))
    failed = forecast(replace(some, datasets=PRIOR.datasets))
    assert failed.timings == {}
    assert failed.missing["again"] == "prior:easy_vqa_choice failed at a question: RuntimeError: no more luck"
    assert 0 < failed.bytes <= found.bytes


def test_a_profile_has_its_conditions_also_without_data() -> None:
    profile = replace(load_profile("full/vqa-bench"), models=(ModelChoice("prior:easy_vqa"),))
    found = forecast(replace(profile, datasets=(DatasetChoice("vqav2:/no/such/folder", "validation"),)))
    assert len(found.conditions) == 1 + 14 * 5 + 2
    assert found.shards == 73
    assert found.asked == {}
    assert list(found.missing) == ["vqav2:/no/such/folder, validation"]


def test_the_command_prints_it_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    questions = [{"id": str(place), "question": "Yes?", "options": ["yes", "no"], "label": 0} for place in range(30)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, questions)))
    (tmp_path / "mine.toml").write_text(
        'models = ["prior:easy_vqa_choice", "pocket/none"]\nfamilies = ["option_order"]\n'
        '[[datasets]]\nname = "jsonl:mine.jsonl"\nsplit = "test"\n'
    )
    assert main(["plan", "mine.toml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "conditions: 2 (clean, option_order)"
    assert lines[1].startswith("data set:   mine/test: 30 questions on 30 images, shown as 0 pictures ")
    assert lines[1].endswith(" 60 rows a model")
    assert lines[2] == "forwards:   2 models x 60 = 120, in 4 shards"
    assert lines[3].startswith("model:      prior:easy_vqa_choice on mine/test: ")
    assert lines[4].startswith("missing:    pocket/none: Unknown model 'pocket/none'")
    assert [line.split()[0] for line in lines[5:]] == ["disk:", "time:"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.jsonl", "mine.toml"]


def test_bad_rows_are_an_error_or_skipped_and_listed_beside_the_predictions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    good = [{"id": str(place), "question": "Yes?", "options": ["yes", "no"], "label": 0} for place in range(6)]
    rows = [*good, {**good[0], "id": "bad", "label": 2}, {**good[0], "id": "worse", "question": ""}]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    path = tmp_path / "mine.toml"
    path.write_text(
        'models = ["prior:easy_vqa_choice"]\nfamilies = ["option_order"]\n'
        '[[datasets]]\nname = "jsonl:mine.jsonl"\nsplit = "test"\nrows = 4\n'
    )
    out = tmp_path / "out"
    assert main(["plan", str(path)]) == 0
    assert "mine.jsonl, row 7: field 'label'" in capsys.readouterr().out
    assert main(["sweep", str(path), "--out", str(out), "--workers", "1"]) == 2
    assert "row 7" in capsys.readouterr().err
    assert main(["plan", str(path), "--skip-bad"]) == 0
    assert "8 rows a model; 2 bad rows are left out" in capsys.readouterr().out
    assert main(["sweep", str(path), "--out", str(out), "--workers", "1", "--skip-bad"]) == 0
    assert read_manifest(out)["profile"]["skip_bad"] is True
    assert read_manifest(out)["rows"] == 8
    run_held_out(replace(load_profile(str(path)), skip_bad=True), out, 1)
    assert measure_speeds(out, 3)["questions"].tolist() == [3]
    for folder in (out, out / "held_out"):
        listed = [json.loads(line) for line in (folder / BAD_ROWS / "jsonl--mine--test.jsonl").read_text().splitlines()]
        assert [(fault["row"], fault["field"]) for fault in listed] == [(7, "label"), (8, "question")]
