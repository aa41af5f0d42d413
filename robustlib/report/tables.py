"""Tables for a paper: one source, written as CSV (full precision), Markdown and LaTeX (rounded, with emphasis)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from robustlib.errors import InvalidValueError
from robustlib.files import write_atomically

Place = tuple[int, str]
"""A cell: row number (from 0) and column name."""

_UNDEFINED = "\N{EN DASH}"
_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
}


@dataclass(frozen=True)
class Column:
    """One column: what it is called in the CSV file and how it reads in print."""

    name: str
    label: str
    """Printed heading; parts between dollar signs are mathematics."""
    group: str = ""
    """Heading above neighbouring columns."""
    decimals: int | None = None
    """Printed decimals; None for text."""
    interval: tuple[str, ...] = ()
    """Names of the two columns that follow it and hold the ends of its interval, printed in brackets beside it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns in the CSV file."""
        return self.name, *self.interval


@dataclass(frozen=True)
class Table:
    """Numbers at full precision and how to print them."""

    name: str
    """File stem and LaTeX label: lower-case letters, digits and underscores."""
    caption: str
    frame: pd.DataFrame
    columns: tuple[Column, ...]
    row_decimals: Mapping[int, int] = field(default_factory=dict)
    """Rows whose numbers are printed with other decimals than their columns say."""
    bold: frozenset[Place] = frozenset()
    underlined: frozenset[Place] = frozenset()
    rules: frozenset[int] = frozenset()
    """Rows with a line above them."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """How a text cell reads in print, where that differs from the CSV file."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9_]+", self.name):
            raise InvalidValueError(f"A table's name must be lower-case letters, digits and _, got {self.name!r}.")
        names = [name for column in self.columns for name in column.names]
        if names != list(self.frame.columns):
            raise InvalidValueError(f"Table {self.name} describes the columns {names}, has {list(self.frame.columns)}.")
        if self.frame.empty:
            raise InvalidValueError(f"Table {self.name} has no rows.")


def write_table(table: Table, folder: str | Path) -> list[Path]:
    """Write a table as CSV, Markdown and LaTeX; equal tables give equal bytes.

    Args:
        table: the table.
        folder: where the three files go; made if it is not there.

    Returns:
        The paths of the three files.
    """
    contents = {
        "csv": _csv(table.frame),
        "md": markdown(table),
        "tex": latex(table),
    }
    paths = [Path(folder) / f"{table.name}.{ending}" for ending in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        write_atomically(path, content.encode())
    return paths


def write_tables(tables: Sequence[Table], folder: str | Path) -> str:
    """Write some tables, perhaps none, and return them as one Markdown text to show."""
    for table in tables:
        write_table(table, folder)
    return "\n".join(map(markdown, tables)) or "This source has no numbers for this table."


def write_numbers(numbers: pd.DataFrame, folder: str | Path, name: str) -> Path:
    """Write numbers as CSV alone: those that are too many to print. Returns the path of the file."""
    path = Path(folder) / f"{name}.csv"
    write_atomically(path, _csv(numbers).encode())
    return path


def round_text(value: float, decimals: int) -> str:
    """Print a number; the only place in robustlib that rounds for print. NaN becomes a dash."""
    if pd.isna(value):
        return _UNDEFINED
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def markdown(table: Table) -> str:
    """Return the table as a Markdown table under its caption; bold as ``**x**``, underline as ``<u>x</u>``."""
    headings = [f"{column.group}<br>{column.label}" if column.group else column.label for column in table.columns]
    alignments = [":--" if column.decimals is None else "--:" for column in table.columns]
    rows = [
        [_emphasised(_markdown_text(text), place, table, "**{}**", "<u>{}</u>") for place, text in row]
        for row in _printed(table)
    ]
    lines = [f"| {' | '.join(cells)} |" for cells in ([_markdown_text(text) for text in headings], alignments, *rows)]
    return f"{table.caption}\n\n" + "\n".join(lines) + "\n"


def latex(table: Table) -> str:
    """Return the table as a LaTeX ``table*`` that needs the packages booktabs and graphicx."""
    rows = [
        [_emphasised(latex_text(text), place, table, r"\textbf{{{}}}", r"\underline{{{}}}") for place, text in row]
        for row in _printed(table)
    ]
    body = [
        ("\\midrule\n" if number in table.rules else "") + " & ".join(cells) + r" \\"
        for number, cells in enumerate(rows)
    ]
    alignment = "".join("l" if column.decimals is None else "r" for column in table.columns)
    return "\n".join(
        [
            r"\begin{table*}",
            r"\centering",
            rf"\caption{{{latex_text(table.caption)}}}",
            rf"\label{{tab:{table.name}}}",
            r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            *_latex_groups(table.columns),
            " & ".join(latex_text(column.label) for column in table.columns) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table*}",
            "",
        ]
    )


def latex_text(text: str) -> str:
    r"""Escape text for LaTeX; parts between dollar signs are mathematics and stay as they are, ``\$`` is a dollar."""
    parts = re.split(r"((?<!\\)\$[^$]+(?<!\\)\$)", text)
    return "".join(part if number % 2 else _latex_words(part.replace(r"\$", "$")) for number, part in enumerate(parts))


def _latex_words(text: str) -> str:
    return "".join(_LATEX_SPECIAL.get(char, char) for char in text).replace(_UNDEFINED, "--")


def extreme_places(frame: pd.DataFrame, columns: Iterable[str], rows: range, largest: bool) -> set[Place]:
    """Return, for each column, the cells among some rows that hold its smallest or largest value; ties share."""
    block = frame.iloc[rows.start : rows.stop][list(columns)].astype(float)
    best = block.eq(block.max() if largest else block.min()).to_numpy()
    return {(rows.start + row, block.columns[column]) for row, column in zip(*best.nonzero(), strict=True)}


def _csv(frame: pd.DataFrame) -> str:
    return str(frame.to_csv(index=False, na_rep="NaN", lineterminator="\n"))


def _printed(table: Table) -> list[list[tuple[Place, str]]]:
    return [
        [
            ((number, column.name), _cell_text(table, number, column, dict(zip(table.frame.columns, row, strict=True))))
            for column in table.columns
        ]
        for number, row in enumerate(table.frame.itertuples(index=False, name=None))
    ]


def _cell_text(table: Table, number: int, column: Column, row: Mapping[str, Any]) -> str:
    if column.decimals is None:
        text = str(row[column.name])
        printed = table.labels.get(text, text.replace("$", r"\$"))  # what a model says is no mathematics
        return " ".join(printed.splitlines())  # a row of a printed table is one line
    decimals = table.row_decimals.get(number, column.decimals)
    value, *ends = (round_text(float(row[name]), decimals) for name in column.names)
    return value if _UNDEFINED in ends or not ends else f"{value} [{', '.join(ends)}]"


def _emphasised(text: str, place: Place, table: Table, bold: str, underlined: str) -> str:
    if place in table.underlined:
        text = underlined.format(text)
    return bold.format(text) if place in table.bold else text


def _markdown_text(text: str) -> str:
    return text.replace("|", "\\|")


def _latex_groups(columns: tuple[Column, ...]) -> list[str]:
    if not any(column.group for column in columns):
        return []
    spans = [(group, len(list(members))) for group, members in groupby(columns, key=lambda column: column.group)]
    headings, lines, first = [], [], 1
    for group, width in spans:
        headings.append(rf"\multicolumn{{{width}}}{{c}}{{{latex_text(group)}}}" if group else " & ".join([""] * width))
        if group:
            lines.append(rf"\cmidrule(lr){{{first}-{first + width - 1}}}")
        first += width
    return [" & ".join(headings) + r" \\", "".join(lines)]
