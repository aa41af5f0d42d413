"""From the long summaries of the third document to tables: one number under its heading, panel by panel."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from robustlib.report.laya_layout import CHANGE, FAMILY_LABELS, Cells
from robustlib.report.tables import Column, Place, Table

PLACES = {"dataset": "Data set", "model": "Model"}
"""What most rows are named by, with headings."""

_PARTS = ["value", "low", "high"]


def spread(
    name: str, caption: str, summary: pd.DataFrame, rows: dict[str, str], keys: Sequence[str], cells: Cells
) -> list[Table]:
    """Spread a long summary over a table; what the summary lacks has no row and no column.

    Args:
        name: of the table.
        caption: of the table.
        summary: the columns of `rows` and `keys`, ``value``, ``low`` and ``high``; each number once.
        rows: the columns that name a row, with their headings; the rows come in their order of appearance.
        keys: the columns that a number is found by; the last is ``metric``.
        cells: the columns by the values of the keys.

    Returns:
        One table, or none where nothing is left. A line stands where the first column has a new value, and a change of
        accuracy is bold where its interval excludes 0.
    """
    places = pd.MultiIndex.from_frame(summary[list(rows)].drop_duplicates())
    numbers = summary.set_index(list(rows))
    found = {key: numbers.loc[(numbers[list(keys)] == list(key)).all(axis=1), _PARTS].reindex(places) for key in cells}
    found = {key: part for key, part in found.items() if part["value"].notna().any()}
    if not found:
        return []
    filled = pd.concat([part["value"] for part in found.values()], axis=1).notna().any(axis=1).to_numpy()
    frame, columns, bold = places[filled].to_frame(index=False), [], set()
    for key, part in found.items():
        bounded = part["low"].notna().any()
        columns.append(cells[key] if bounded else replace(cells[key], interval=()))
        names = columns[-1].names
        frame[list(names)] = part.loc[filled, _PARTS[: len(names)]].to_numpy()
        if key[-1] == CHANGE:
            sure = ((part["low"] > 0) | (part["high"] < 0))[filled]
            bold |= {(row, cells[key].name) for row, bounds_agree in enumerate(sure) if bounds_agree}
    return [
        Table(
            name=name,
            caption=caption,
            frame=frame,
            columns=(*(Column(name, heading) for name, heading in rows.items()), *columns),
            bold=frozenset(bold),
            rules=breaks(frame, next(iter(rows))),
            labels=FAMILY_LABELS,
        )
    ]


def listed(
    name: str,
    caption: str,
    frame: pd.DataFrame,
    rows: dict[str, str],
    columns: Sequence[Column],
    bold: frozenset[Place] = frozenset(),
) -> list[Table]:
    """Return a frame as it is as a table: of the columns those that it has; no table of an empty frame."""
    if frame.empty:
        return []
    kept = [column for column in columns if set(column.names) <= set(frame.columns)]
    heads = [Column(name, heading) for name, heading in rows.items()]
    shown = frame[[part for column in (*heads, *kept) for part in column.names]].reset_index(drop=True)
    first = next(iter(rows))
    rules = breaks(shown, first)
    return [Table(name, caption, shown, (*heads, *kept), bold=bold, rules=rules, labels=FAMILY_LABELS)]


def panels(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield a title and the rows of one panel after the other, with a column ``series`` of what it sets side by side.

    Where there are several models, each data set is a panel, and its series are the models. A single model has one
    panel without a title, and its series are the data sets.
    """
    if len(frame["model"].unique()) <= 1:
        yield "", frame.assign(series=frame["dataset"])
        return
    for dataset, rows in frame.groupby("dataset", sort=True):
        yield str(dataset), rows.assign(series=rows["model"])


def file_name(name: str, title: str) -> str:
    """Return a name with a panel's title behind it, as the name of a table or figure."""
    return "_".join(part for part in (name, re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")) if part)


def headed(title: str, caption: str) -> str:
    """Return a caption that begins with a panel's title."""
    return f"{title}: {caption[0].lower()}{caption[1:]}" if title else caption


def bounds(name: str) -> tuple[str, str]:
    """Return the names of the columns with the ends of an interval."""
    return f"{name}_low", f"{name}_high"


def breaks(frame: pd.DataFrame, name: str) -> frozenset[int]:
    """Return the rows, but the first, where a column has a new value; none if it has one in every row."""
    if frame[name].is_unique:
        return frozenset()
    changed = (frame[name] != frame[name].shift()).to_numpy().nonzero()[0]
    return frozenset(int(row) for row in changed if row)


def by_place(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows sorted by data set and model."""
    return frame.sort_values(list(PLACES), kind="stable")


def in_family_order(frame: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return the rows sorted by some columns and then by family, in the order of the document."""
    place = {family: number for number, family in enumerate(FAMILY_LABELS)}
    ordered = frame.assign(_place=frame["family"].map(place)).sort_values([*by, "_place"], kind="stable")
    return ordered.drop(columns="_place").reset_index(drop=True)
