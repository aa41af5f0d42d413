"""What the text of VLM-RobustBench states: checked against itself, and beside a run."""

import pandas as pd
import pytest

from robustlib.data import published
from robustlib.data.published import PublishedDataError, vlm_robustbench_stated
from robustlib.report.vlm_claims import claims_table
from robustlib.report.vlm_context import context_table
from robustlib.report.vlm_reading import reading
from tests.metrics.vlm_table import hand_made_predictions
from tests.report.vlm_run import hand_made_evidence, quiet_evidence, rows_by, values

ONE = 100 / 12  # one question, in points


def restate(metric: str, condition: str, stated: str, scope: str = "mean") -> pd.DataFrame:
    """Return the statements about MMBench with one of them changed."""
    frame = vlm_robustbench_stated()
    mine = (frame["metric"] == metric) & (frame["condition"] == condition) & (frame["scope"] == scope)
    mine &= frame["dataset"] == "MMBench"
    assert mine.sum() == 1
    return frame.assign(stated=frame["stated"].mask(mine, stated))


def disagreeing(statements: pd.DataFrame) -> list[str]:
    frame = claims_table(statements).frame
    return frame.loc[frame["verdict"] == "disagree", "claim"].tolist()


def test_statements_are_numbers_with_a_section() -> None:
    frame = vlm_robustbench_stated()
    assert (frame["section"] != "").all()
    row = frame[(frame["metric"] == "flip_plus") & (frame["scope"] == "InternVL3.5-4B")]
    assert row[["condition", "stated"]].to_numpy().tolist() == [["flip_v", "15.7"]]


def test_a_statement_that_stands_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = vlm_robustbench_stated()
    monkeypatch.setattr(published, "published_table", lambda *_args, **_kwargs: pd.concat([frame, frame.head(1)]))
    with pytest.raises(PublishedDataError, match="a statement twice"):
        vlm_robustbench_stated()


def test_the_arithmetic_of_the_text() -> None:
    claims = rows_by(claims_table(vlm_robustbench_stated()).frame, "claim")
    failures = claims["InternVL3.5-4B: severe failures in percent of the configurations"]
    assert failures["left"] == pytest.approx(100 * 13 / 133)
    assert values(failures, "right_low", "right_high") == pytest.approx([9.75, 9.85])
    assert failures["verdict"] == "agree"
    assert [row["left"] for claim, row in claims.items() if claim.startswith("Tier verdicts")] == [378, 63]
    flips = claims["Mean drop at binary: Flip+ less Flip-, and from the RCE"]
    assert values(flips, "left", "left_low", "left_high") == pytest.approx([10.7, 10.6, 10.8])
    assert flips["right"] == pytest.approx(0.115 * 46.7)


def test_what_does_not_fit_is_found() -> None:
    assert disagreeing(vlm_robustbench_stated()) == [
        "Questions asked of MMBench: 20 %",
        "Mean drop at binary: Flip+ less Flip-, and from the RCE",
        "Mean drop of the binary transforms, Flip+ less Flip-: at most that of the worst, flip_v",
    ]
    assert disagreeing(restate("flip_plus", "binary", "7.0")) == ["Questions asked of MMBench: 20 %"]
    changed = disagreeing(restate("severe_failures", "", "14", "InternVL3.5-4B"))
    assert "InternVL3.5-4B: severe failures in percent of the configurations" in changed


def test_a_run_stands_beside_the_statements() -> None:
    table = context_table(vlm_robustbench_stated(), hand_made_evidence())
    rows = rows_by(table.frame, "metric", "condition")
    ours = {key: values(row, "mean", "lowest", "highest") for key, row in rows.items()}
    assert ours["visual_gain", ""] == pytest.approx([(50 + 2 * ONE) / 2, 2 * ONE, 50])  # "blind" has no part in it
    assert ours["drop", "flip_v"] == pytest.approx([-ONE / 2, -2 * ONE, ONE])
    assert ours["flip_plus", "low"] == pytest.approx([ONE / 84, 0, ONE / 42])  # a level, not the end of an interval
    assert ours["mce", "noise"][2] == pytest.approx(100)
    assert set(vlm_robustbench_stated()["metric"]) - set(table.frame["metric"]) == {
        *("configurations", "severity_configurations", "types", "models", "sample", "questions", "verdicts"),
        *("severe_failures", "less_harmful_than_flip_v", "catastrophic_count"),
    }, "all but the counts stand beside the run"
    assert "counts, which grow with them, are left out" in table.caption
    stated = vlm_robustbench_stated().set_index(["dataset", "scope", "condition", "metric"])["stated"]
    assert all(stated[tuple(row[:4])] == row[4] for row in table.frame.itertuples(index=False))


def test_the_reading_is_computed() -> None:
    text = reading(hand_made_evidence())
    assert "On hand_made/test:" in text
    for sentence in (
        "Accuracy on clean images is from shaky with 50.0 % to sure with 75.0 %.",
        "No visual gain, and so no relative corruption error: blind.",
        "by severe failures: sure with 3.8 %.",
        "The largest drop of one model is 75.0 points (sure under upsample:high); the largest mean drop is under "
        "upsample:high with 45.8 points.",
        "0 of 42 corruptions cost less at high than the worst one at low, fog:low with 4.2 points;",
        "Of 45 catastrophic cases 24 % come from spatial and resampling corruptions, which are 20 % of",
        "at most sure with 0.0 % on clean images",
    ):
        assert sentence in text


def test_the_reading_of_a_run_without_gain_says_so() -> None:
    text = reading(quiet_evidence(hand_made_predictions().query("model == 'blind'")))
    assert "by mean relative corruption error: undefined;" in text
    assert "Of 0 catastrophic cases" in text
