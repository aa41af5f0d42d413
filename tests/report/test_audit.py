from decimal import Decimal

import pandas as pd
import pytest

from robustlib.data.published import vqa_bench_printed
from robustlib.report.audit import (
    VERDICTS,
    audit,
    audit_table,
    last_digit,
    recomputed_numbers,
    round_half_up,
    summary_table,
    verdict,
)
from robustlib.report.audit_notes import with_notes
from robustlib.report.tables import markdown
from robustlib.report.vqa_evidence import Evidence

# A table, a model or "", a corruption or "", a metric.
Place = tuple[str, str, str, str]


@pytest.fixture(scope="module")
def audited(published: Evidence) -> pd.DataFrame:
    return with_notes(audit(vqa_bench_printed(), published.cube))


@pytest.fixture
def faultless(published: Evidence) -> pd.DataFrame:
    """The three tables as they would be printed without a fault: every number rounded from the recomputed one."""
    printed = vqa_bench_printed()
    recomputed = audit(printed, published.cube)["recomputed"]
    texts = [
        text if pd.isna(value) else str(round_half_up(Decimal(repr(value)), last_digit(text)))
        for text, value in zip(printed["printed"], recomputed, strict=True)
    ]
    return printed.assign(printed=texts)


@pytest.mark.parametrize(
    ("printed", "recomputed", "expected"),
    [
        ("0.576", 0.5762, "equal"),
        ("0.782", 0.7825, "equal"),  # half-way: either neighbour is a fair print
        ("0.783", 0.7825, "equal"),
        ("0.659", 0.658475, "last digit"),
        ("0.657", 0.658475, "last digit"),
        ("0.660", 0.658475, "differs"),
        ("07.85", 7.8541, "equal"),
        ("385", 385.4, "equal"),
        ("385", 386.0, "last digit"),
        ("0.700", float("nan"), "not recomputable"),
    ],
)
def test_verdict(printed: str, recomputed: float, expected: str) -> None:
    assert verdict(printed, recomputed) == expected


def test_counts_per_table(audited: pd.DataFrame) -> None:
    """24 of the 252 numbers that the accuracies decide are not equal.

    Table 1, 14: five accuracies and means rounded twice, the accuracy of ViLT under brightness and the mean over
    models built on it, the relative drops of the four models (three made from printed accuracies, one with swapped
    digits), and the relative drops of three corruptions in each other's columns. Table 2, 10: the JPEG mean again, the
    drop of BLIP again, and eight that average over ViLT under brightness. Table 3: no accuracy decides the four sizes.
    """
    counts = pd.crosstab(audited["table"], audited["verdict"]).reindex(columns=list(VERDICTS), fill_value=0)
    assert dict(zip(counts.index, counts.to_numpy().tolist(), strict=True)) == {
        "table1": [82, 7, 7, 0],
        "table2": [138, 8, 2, 0],
        "table3": [8, 0, 0, 4],
    }


def test_every_metric_is_confirmed_by_most_of_its_numbers(audited: pd.DataFrame) -> None:
    """A formula read wrongly would fail for nearly all models and corruptions, not for a few."""
    table2 = audited[audited["table"] == "table2"]
    equal = table2["verdict"].eq("equal").groupby(table2["metric"]).mean()
    assert set(equal.index) == {
        *("clean_accuracy", "mean_accuracy", "relative_drop", "vre"),
        *("first_drop", "range_of_error", "error_rate", "average_error", "average_difference"),
    }
    assert equal.min() >= 0.85
    assert equal["vre"] == 1


def test_the_three_misplaced_drops_are_found(audited: pd.DataFrame) -> None:
    misplaced = audited[audited["note"].str.startswith("is the number of")]
    assert dict(zip(misplaced["corruption"], misplaced["note"], strict=True)) == {
        "spatter": "is the number of pixelate",
        "pixelate": "is the number of jpeg_compression",
        "jpeg_compression": "is the number of spatter",
    }
    assert set(misplaced["table"]) == {"table1"}
    assert set(misplaced["metric"]) == {"relative_drop"}


def test_the_numbers_that_were_rounded_twice_are_found(audited: pd.DataFrame) -> None:
    twice = audited[audited["note"].str.startswith("rounded twice")]
    places = set(zip(twice["table"], twice["model"], twice["corruption"], strict=True))
    assert places == {
        ("table1", "ViLT", "impulse_noise"),
        ("table1", "BLIP", "shot_noise"),
        ("table1", "BLIP", "spatter"),
        ("table1", "VLE", "contrast"),
        ("table1", "", "jpeg_compression"),
        ("table2", "", "jpeg_compression"),
    }
    assert set(twice["verdict"]) == {"last digit"}


def test_the_row_that_was_averaged_from_other_values_is_found(audited: pd.DataFrame) -> None:
    source = audited[audited["note"].str.startswith("averaged from other")]
    assert source[["model", "corruption", "metric"]].to_numpy().tolist() == [["ViLT", "brightness", "accuracy"]]
    dependent = audited[audited["note"].str.startswith("depends on ViLT brightness")]
    assert len(dependent) == 9
    assert (dependent["model"].eq("ViLT") | dependent["corruption"].eq("brightness")).all()


def test_drops_made_from_printed_accuracies_are_found(audited: pd.DataFrame) -> None:
    rounded = audited[audited["note"].str.startswith("computed from the printed")]
    assert set(zip(rounded["table"], rounded["model"], strict=True)) == {
        ("table1", "ViLT"),
        ("table1", "BLIP"),
        ("table1", "PNP"),
        ("table2", "BLIP"),
    }
    swapped = audited[audited["note"].str.startswith("two digits swapped")]
    assert swapped[["table", "model", "printed", "note"]].to_numpy().tolist() == [
        ["table1", "VLE", "10.21", "two digits swapped: 10.12, from the printed accuracies"]
    ]


def test_every_unequal_number_has_one_explanation_and_no_other_has(audited: pd.DataFrame) -> None:
    unequal = audited["verdict"].isin(["last digit", "differs"])
    assert (audited["note"].ne("") == unequal).all()


def test_tables_without_a_fault_are_found_faultless(faultless: pd.DataFrame, published: Evidence) -> None:
    audited = with_notes(audit(faultless, published.cube))
    assert set(audited["verdict"]) == {"equal", "not recomputable"}
    assert set(audited["note"]) == {""}


@pytest.mark.parametrize(
    ("prints", "notes"),
    [
        # Two corruptions change places in Table 2.
        (
            {
                ("table2", "", "snow", "range_of_error"): "1.254",
                ("table2", "", "shot_noise", "range_of_error"): "0.664",
            },
            ["is the number of snow", "is the number of shot_noise"],
        ),
        # A model gets the number of another.
        ({("table2", "PNP", "", "first_drop"): "0.160"}, ["is the number of BLIP"]),
        # The accuracy of another model (PNP) stands in another row, so it does not count as misplaced.
        (
            {("table1", "ViLT", "snow", "accuracy"): "0.436"},
            ["averaged from other accuracies than the published ones"],
        ),
        # 0.6264600 -> 0.6265 -> 0.627.
        ({("table1", "BLIP", "shot_noise", "accuracy"): "0.627"}, ["rounded twice: first to 0.6265, then to 0.627"]),
        # 0.692 -> 0.629.
        ({("table2", "", "shot_noise", "vre"): "0.629"}, ["two digits swapped: 0.692, from the exact ones"]),
        # A plain misprint has no explanation.
        ({("table2", "", "shot_noise", "vre"): "0.999"}, [""]),
        # An accuracy that is off, and what was averaged over it.
        (
            {("table1", "VLE", "snow", "accuracy"): "0.750", ("table2", "", "snow", "average_error"): "0.381"},
            [
                "averaged from other accuracies than the published ones",
                "depends on VLE snow, which was averaged from other accuracies",
            ],
        ),
    ],
)
def test_explanations_work_for_any_number(
    faultless: pd.DataFrame, published: Evidence, prints: dict[Place, str], notes: list[str]
) -> None:
    keys = ["table", "model", "corruption", "metric"]
    changed = faultless.set_index(keys)
    for place, text in prints.items():
        changed.loc[place, "printed"] = text
    audited = with_notes(audit(changed.reset_index(), published.cube))
    unequal = audited[audited["verdict"].isin(["last digit", "differs"])]
    assert set(zip(*(unequal[key] for key in keys), strict=True)) == set(prints)
    assert unequal["note"].tolist() == notes


def test_numbers_are_recomputed_once_each(published: Evidence) -> None:
    numbers = recomputed_numbers(published.cube)
    assert not numbers.duplicated(["model", "corruption", "metric"]).any()
    assert len(numbers) == 4 * 14 + 4 * 9 + 14 * 8


def test_audit_tables_print(audited: pd.DataFrame) -> None:
    text = markdown(summary_table(audited))
    assert "| all | 228 | 15 | 9 | 4 |" in text
    findings = audit_table(audited[audited["verdict"] != "equal"], "audit_findings", "Findings")
    assert "| table1 |  | spatter | relative_drop | percent | 09.80 | 11.58808 | -1.78808 | differs |" in markdown(
        findings
    )
