"""How a table of VLM-RobustBench is specified: a frame, some of its columns, and which of its rows in which order."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

Pick = Callable[[pd.DataFrame], pd.DataFrame]
"""From all rows of a frame to those of a table."""


@dataclass(frozen=True)
class Spec:
    """How a table is made from a frame of `BenchEvidence`."""

    name: str
    """File stem; "table3" stands for Table 3 of the document."""
    title: str
    """What the caption says of the numbers."""
    frame: str
    """A key of `BenchEvidence.frames`."""
    keys: Mapping[str, str]
    """Text columns and their headings."""
    numbers: Mapping[str, tuple[str, int]]
    """Number columns, their headings and decimals."""
    picks: tuple[Pick, ...] = ()
    """Applied one after the other."""
    across: str = ""
    """A column whose values become groups of columns, each with all numbers."""
    absent: str = ""
    """Why there may be no such table."""

    @property
    def label(self) -> str:
        """What the document calls it, or else its name in words."""
        numbers = re.findall(r"\d+", self.name)
        return f"Table{'s' * (len(numbers) > 1)} {listed(numbers)}" if numbers else self.name.replace("_", " ")

    @property
    def of_several_models(self) -> bool:
        """Whether its numbers are means over models."""
        return self.frame in ("means", "families", "levels", "overall", "categories")


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def category_label(category: str) -> str:
    """Return the printed name of a category of corruptions."""
    return "VLM-specific" if category == "vlm_specific" else category.capitalize()


def top(count: int, metric: str, *within: str, smallest: bool = False) -> Pick:
    """Return the rows with the largest numbers within each group, or the smallest, in order; undefined ones never."""

    def pick(frame: pd.DataFrame) -> pd.DataFrame:
        ordered = frame.dropna(subset=[metric]).sort_values(metric, ascending=smallest, kind="stable")
        best = ordered.groupby(list(within), sort=False).head(count)
        groups = frame[list(within)].drop_duplicates()
        return groups.merge(best, on=list(within))

    return pick


def only(column: str, *values: str) -> Pick:
    """Return the rows that have one of the values, in the order of the values."""

    def pick(frame: pd.DataFrame) -> pd.DataFrame:
        kept = frame[frame[column].isin(values)]
        return kept.sort_values(column, key=lambda names: names.map(values.index), kind="stable")

    return pick


def first_of(column: str) -> Pick:
    """Return the first row with each value."""
    return lambda frame: frame.drop_duplicates(column)


def several_modes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the models of families that were asked in more than one mode."""
    modes = frame.groupby(["dataset", "family"])["mode"].transform("nunique")
    return frame[modes > 1].sort_values(["dataset", "family", "mode"], kind="stable")


def best_model(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the model with the highest clean accuracy on each data set, the first of equals."""
    clean = (frame["accuracy"] + frame["drop"]).round(9)  # drops are rounded, and that noise must not break a tie
    best = frame.loc[clean.groupby(frame["dataset"]).idxmax(), ["dataset", "model"]]
    return best.merge(frame, on=["dataset", "model"])
