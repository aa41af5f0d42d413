"""Kinds of errors and colour bias, from a sweep by a model that is right until a picture changes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from robustlib.data import Dataset
from robustlib.data.images import Pixels
from robustlib.data.published import PUBLISHED
from robustlib.errors import InvalidValueError
from robustlib.metrics.error_kinds import KINDS
from robustlib.models.base import Answer, Prompt
from robustlib.report.tables import markdown
from robustlib.report.vqa_error_figures import plot_colour_bias, plot_kinds, prepare_kinds, save_error_figures
from robustlib.report.vqa_errors import (
    agreement_table,
    bias_tables,
    error_reading,
    example_tables,
    kind_tables,
    load_error_evidence,
)
from robustlib.report.vqa_evidence import evidence_of
from robustlib.sweep import (
    CLEAN,
    Condition,
    DatasetChoice,
    ModelChoice,
    Profile,
    load_profile,
    plan_jobs,
    read_predictions,
    run_sweep,
    suite_conditions,
)
from robustlib.sweep.plan import load_choice
from robustlib.sweep.questions import load_asked
from robustlib.sweep.store import StoreError
from tests.report.test_vqa_notebooks import expected_files, run

PROFILE = Profile(
    name="toy",
    datasets=(DatasetChoice("easy_vqa", "test", rows=60),),
    models=(ModelChoice("toy"),),
    suites=("vqa_bench", "vqa_bench_extra"),
)
CONDITIONS = [
    CLEAN,
    *(Condition("vqa_bench", "corruption", name, level) for name in ("pixelate", "contrast") for level in range(1, 6)),
    *suite_conditions("vqa_bench_extra", range(1, 6)),
]


def seen(pixels: Pixels | None) -> bytes:
    assert pixels is not None
    return pixels.tobytes()


class KnowsByHeart:
    """A model that knows the clean pictures; of others it says that they are red, or that nothing is there."""

    name = "toy"

    def __init__(self, dataset: Dataset) -> None:
        self.known = {(seen(question.pixels()), question.text): question.answers[0] for question in dataset}

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        return [Answer(self.answer_one(prompt)) for prompt in prompts]

    def answer_one(self, prompt: Prompt) -> str:
        other = "red" if "color" in prompt.text else "nothing"
        return self.known.get((seen(prompt.image), prompt.text), other)

    def describe(self) -> dict[str, str | int | float]:
        return {"fingerprint": "toy", "parameters": 1}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("errors")
    dataset = load_choice(PROFILE.datasets[0], PROFILE, out)
    run_sweep(plan_jobs(PROFILE, [dataset], {"toy": KnowsByHeart(dataset)}, CONDITIONS), out)
    return str(out)


def test_the_questions_of_a_sweep_are_found_again(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (asked,) = load_asked(source)
    assert [question.id for question in asked] == read_predictions(source)["question_id"].unique().tolist()
    altered = replace(asked, questions=tuple(replace(question, text="What?") for question in asked))
    monkeypatch.setattr("robustlib.sweep.questions.load_choice", lambda *_: altered)
    with pytest.raises(StoreError, match=r"easy_vqa/test are not those .* the data has changed"):
        load_asked(source)


def test_tables_count_what_the_model_said(source: str) -> None:
    evidence = load_error_evidence(source)
    by_model, by_corruption = kind_tables(evidence)
    (numbers,) = by_model.frame.to_dict("records")
    assert numbers["answers"] == 60 * 10
    assert numbers["turned_wrong"] == sum(numbers[kind] for kind in KINDS) > 300
    errors = evidence.answers[evidence.answers["kind"] != ""]
    assert numbers["miscolor"] == (errors["answer"] == "red").sum() > 0
    assert by_corruption.frame["corruption"].tolist() == ["contrast", "pixelate"]  # as in Table 1
    assert by_corruption.frame["turned_wrong"].sum() == numbers["turned_wrong"]
    (bias,) = bias_tables(evidence)
    assert bias.frame["condition"].tolist() == ["clean", "grayscale", "grayscale_inverse"]
    assert bias.frame["chromatic"][1:].gt(0.5).all()
    assert "Grey images: 100.0 % of the answers" in error_reading(evidence)


def test_examples_are_drawn_by_the_seed(source: str) -> None:
    evidence = load_error_evidence(source)
    (first,), (again,), (other,) = (example_tables(evidence, 2, seed) for seed in (0, 0, 1))
    pd.testing.assert_frame_equal(first.frame, again.frame)
    assert not first.frame.reset_index(drop=True).equals(other.frame.reset_index(drop=True))
    assert first.frame["kind"].value_counts().max() == 2
    assert not first.frame["question"].duplicated().any()
    errors = evidence.answers[evidence.answers["kind"] != ""]
    assert set(first.frame["kind"]) == set(errors["kind"])
    assert len(first.frame.merge(errors, on=list(first.frame.columns))) >= len(first.frame)


def test_figures_draw_shares_that_add_up(source: str) -> None:
    evidence = load_error_evidence(source)
    kinds = prepare_kinds(evidence)
    assert kinds.groupby(["of", "name"])["share"].sum().to_numpy() == pytest.approx(1)
    bars = [bar for axes in plot_kinds(kinds).axes for container in axes.containers for bar in container]
    assert sum(bar.get_width() for bar in bars) == pytest.approx(3)  # a model and two corruptions
    assert max(bar.get_x() + bar.get_width() for bar in bars) == pytest.approx(1)
    assert "n = " in "".join(text.get_text() for text in plot_colour_bias(evidence.bias).texts)


def test_what_there_is_nothing_of_is_left_out(source: str, tmp_path: Path) -> None:
    evidence = load_error_evidence(source)
    right = replace(evidence, answers=evidence.answers.assign(kind=""), bias=evidence.bias[:0])
    assert [*example_tables(right, 3, 0), *bias_tables(right), *save_error_figures(right, str(tmp_path))] == []
    assert error_reading(right) == "- Of 600 answers that were right on the clean image, 0 (0.0 %) turned wrong."
    assert "nan" not in markdown(kind_tables(right)[0])
    nothing = replace(right, answers=evidence.answers[:0])
    assert [*kind_tables(nothing), *example_tables(nothing, 3, 0), *save_error_figures(nothing, str(tmp_path))] == []
    assert error_reading(nothing) == "- No answer was right on the clean image, so that none could turn wrong."


def test_a_share_stands_with_what_it_is_of(source: str) -> None:
    evidence = load_error_evidence(source)
    corruptions = kind_tables(evidence)[1].frame.set_index("corruption")
    worst = str(corruptions["miscolor_share"].idxmax())
    share, wrong = corruptions["miscolor_share"][worst], corruptions["turned_wrong"][worst]
    assert f"most under {worst.capitalize()}, {100 * share:.1f} % of {wrong:.0f}." in error_reading(evidence)


def test_the_rules_are_shown_with_their_precision() -> None:
    table = agreement_table()
    assert "n = 100" in table.caption
    assert "agree on 87 of all, and on 12 of the 15" in table.caption
    assert table.frame["labelled"].sum() == table.frame["ruled"].sum() == 100


def test_a_sweep_without_grey_images_and_published_figures_are_refused(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoreError, match="no such folder"):
        load_error_evidence(PUBLISHED)
    predictions = read_predictions(source)
    without = predictions[predictions["suite"] != "vqa_bench_extra"]
    monkeypatch.setattr("robustlib.report.vqa_errors.read_predictions", lambda *_: without)
    with pytest.raises(InvalidValueError, match="add the suite 'vqa_bench_extra'"):
        load_error_evidence(source)


def test_grey_images_leave_the_tables_of_the_benchmark_as_they_were(source: str) -> None:
    predictions = read_predictions(source)
    without = predictions[predictions["suite"] != "vqa_bench_extra"]
    assert len(without) < len(predictions)
    one, other = (evidence_of("a sweep", rows, {"toy": 1}) for rows in (predictions, without))
    assert one.cube.corruptions == other.cube.corruptions
    assert (one.cube.accuracy == other.cube.accuracy).all()
    assert one.statuses is not None
    assert other.statuses is not None
    pd.testing.assert_frame_equal(one.statuses, other.statuses)
    assert one.statuses["rows"].tolist() == [60, 600]


@pytest.mark.parametrize("level", ["smoke", "pocket", "full"])
def test_the_profiles_ask_about_grey_images(level: str) -> None:
    assert load_profile(f"{level}/vqa-bench").suites == ("vqa_bench", "vqa_bench_extra")


def test_notebook(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("vqa_bench_errors", monkeypatch, source=source, out_dir=str(tmp_path), resamples=50)
    tables = ["colour_bias", "error_examples", "error_kinds_by_corruption", "error_kinds_by_model", "error_rules"]
    expected = expected_files(tables, ["csv", "md", "tex"])
    expected += [f"{name}.{end}" for name in ("colour_bias_shares", "error_kinds") for end in ("csv", "pdf", "png")]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*expected, "error_kinds_by_cell.csv"])
