import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustlib.errors import InvalidValueError
from robustlib.report.page_text import read_table
from robustlib.report.tables import (
    Column,
    Table,
    extreme_places,
    latex,
    latex_text,
    markdown,
    round_text,
    write_table,
)

FRAME = pd.DataFrame({"model": ["vilt_b|32", "mean"], "first": [0.12345, -0.0001], "drop": [7.855, np.nan]})


@pytest.fixture
def table() -> Table:
    return Table(
        name="small",
        caption="Accuracy at $l_0$ & 50% loss",
        frame=FRAME,
        columns=(
            Column("model", "Model"),
            Column("first", "First_1", "Group #1", 3),
            Column("drop", r"$A^{rel}$ (%)", "Group #1", 3),
        ),
        row_decimals={1: 2},
        bold=frozenset({(0, "first")}),
        underlined=frozenset({(0, "first"), (0, "drop")}),
        rules=frozenset({1}),
        labels={"mean": r"$A_c$"},
    )


def test_markdown_rounds_emphasises_and_escapes(table: Table) -> None:
    assert markdown(table).splitlines() == [
        "Accuracy at $l_0$ & 50% loss",
        "",
        "| Model | Group #1<br>First_1 | Group #1<br>$A^{rel}$ (%) |",
        "| :-- | --: | --: |",
        "| vilt_b\\|32 | **<u>0.123</u>** | <u>7.855</u> |",
        "| $A_c$ | 0.00 | \N{EN DASH} |",
    ]


def test_latex_rounds_emphasises_and_escapes(table: Table) -> None:
    assert latex(table).splitlines() == [
        r"\begin{table*}",
        r"\centering",
        r"\caption{Accuracy at $l_0$ \& 50\% loss}",
        r"\label{tab:small}",
        r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r" & \multicolumn{2}{c}{Group \#1} \\",
        r"\cmidrule(lr){2-3}",
        r"Model & First\_1 & $A^{rel}$ (\%) \\",
        r"\midrule",
        r"vilt\_b|32 & \textbf{\underline{0.123}} & \underline{7.855} \\",
        r"\midrule",
        r"$A_c$ & 0.00 & -- \\",
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table*}",
    ]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("50% & #1_a", r"50\% \& \#1\_a"),
        ("{x}^2~", r"\{x\}\textasciicircum{}2\textasciitilde{}"),
        ("a\\b", r"a\textbackslash{}b"),
        ("$A_{v,0}$ (%)", r"$A_{v,0}$ (\%)"),
        ("costs 5$", r"costs 5\$"),
        ("$a_1$_$b_2$", r"$a_1$\_$b_2$"),
        ("\N{EN DASH}", "--"),
    ],
)
def test_latex_text(text: str, escaped: str) -> None:
    assert latex_text(text) == escaped


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (0.5764, 3, "0.576"),
        (2.0, 0, "2"),
        (-0.0004, 3, "0.000"),
        (-0.0, 1, "0.0"),
        (-0.0006, 3, "-0.001"),
        (float("nan"), 3, "\N{EN DASH}"),
        (31.17, 2, "31.17"),
    ],
)
def test_round_text(value: float, decimals: int, text: str) -> None:
    assert round_text(value, decimals) == text


def test_a_row_stays_one_line_in_print_whatever_its_text() -> None:
    frame = pd.DataFrame({"answer": ["a\nb\u2028c | d\r\n", ""], "n": [1, 2]})
    table = Table("answers", "Answers.", frame, (Column("answer", "Answer"), Column("n", "n", decimals=0)))
    assert markdown(table).splitlines()[4:] == ["| a b c \\| d | 1 |", "|  | 2 |"]
    assert [row[0] for row in read_table(markdown(table)).rows] == ["a b c | d", ""]
    assert "a b c | d & 1" in latex(table)


def test_dollars_in_an_answer_are_no_mathematics() -> None:
    said = r"$5 \input{x} or \$6_a$"
    frame = pd.DataFrame({"answer": [said, "le"]})
    table = Table("answers", "From $1$.", frame, (Column("answer", "Answer"),), labels={"le": r"$\leq$"})
    assert latex_text(r"\$5 and \$6") == r"\$5 and \$6"
    assert r"\$5 \textbackslash{}input\{x\} or \textbackslash{}\$6\_a\$ \\" in latex(table)
    assert r"$\leq$ \\" in latex(table)
    assert [row[0] for row in read_table(markdown(table)).rows] == [said, "&le;"]


@given(st.lists(st.floats(allow_infinity=False), min_size=1, max_size=20))
def test_csv_keeps_every_bit(values: list[float]) -> None:
    frame = pd.DataFrame({"name": ["N/A"] * len(values), "value": values})
    table = Table("numbers", "Numbers", frame, (Column("name", "Name"), Column("value", "Value", decimals=2)))
    with tempfile.TemporaryDirectory() as folder:
        path = write_table(table, folder)[0]
        read = pd.read_csv(path, keep_default_na=False, na_values={"value": ["NaN"]})
    pd.testing.assert_frame_equal(read, frame, check_exact=True, check_dtype=False)


def test_an_interval_is_printed_beside_its_number() -> None:
    ends = {"low": [1.04, np.nan, -0.04], "high": [2.0, np.nan, 0.0]}
    frame = pd.DataFrame({"model": ["a", "b", "c"], "drop": [1.5, np.nan, 0.0], **ends, "rows": [12, 3, 4]})
    columns = (Column("model", "Model"), Column("drop", "Drop", "Cost", 1, ("low", "high")), Column("rows", "n", "", 0))
    table = Table("drops", "Drops", frame, columns, bold=frozenset({(0, "drop")}))
    assert markdown(table).splitlines()[2:] == [
        "| Model | Cost<br>Drop | n |",
        "| :-- | --: | --: |",
        "| a | **1.5 [1.0, 2.0]** | 12 |",
        "| b | \N{EN DASH} | 3 |",
        "| c | 0.0 [0.0, 0.0] | 4 |",
    ]
    assert r"\textbf{1.5 [1.0, 2.0]} & 12 \\" in latex(table)
    assert r" & \multicolumn{1}{c}{Cost} &  \\" in latex(table)
    with pytest.raises(InvalidValueError, match=r"describes the columns \['model', 'drop', 'high', 'low', 'rows'\]"):
        Table("drops", "", frame, (columns[0], replace(columns[1], interval=("high", "low")), columns[2]))


def test_three_files_are_written_whole_and_the_same_each_time(table: Table, tmp_path: Path) -> None:
    folder, names = tmp_path / "new" / "folder", ["small.csv", "small.md", "small.tex"]
    paths = write_table(table, folder)
    first = [path.read_bytes() for path in paths]
    assert [path.name for path in write_table(table, folder)] == names
    assert [path.read_bytes() for path in paths] == first
    assert sorted(path.name for path in folder.iterdir()) == names


def test_extreme_places_share_ties_and_skip_what_is_undefined() -> None:
    frame = pd.DataFrame({"a": [3.0, 1.0, 1.0, 9.0], "b": [np.nan, 2.0, 5.0, 9.0], "c": [np.nan] * 4})
    rows = range(3)
    assert extreme_places(frame, ["a", "b", "c"], rows, largest=False) == {(1, "a"), (2, "a"), (1, "b")}
    assert extreme_places(frame, ["a", "b"], rows, largest=True) == {(0, "a"), (2, "b")}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "Table 1"}, "lower-case letters, digits and _, got 'Table 1'"),
        ({"name": "../escape"}, "lower-case"),
        ({"columns": (Column("model", "Model"),)}, r"describes the columns \['model'\]"),
        ({"frame": FRAME.iloc[:0]}, "has no rows"),
    ],
)
def test_a_table_that_does_not_fit_its_description_is_refused(change: dict[str, Any], message: str) -> None:
    columns = tuple(Column(name, name) for name in FRAME.columns)
    with pytest.raises(InvalidValueError, match=message):
        Table(**{"name": "small", "caption": "Small", "frame": FRAME, "columns": columns, **change})
