"""What the tables of the families are made of: some rows of a family, resampled by image, and numbers about them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self, SupportsFloat

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from robustlib.metrics.arrays import Array
from robustlib.metrics.bootstrap import ClusterDraws, draw_clusters, percentile_interval
from robustlib.metrics.calibration import expected_calibration_error, resampled_calibration_error
from robustlib.metrics.paired_rows import Cell, Evaluation

ECE_RESAMPLES = 400
"""Resamples behind the interval of a calibration error, as in the third document."""


class Finding(NamedTuple):
    """One number about some rows of a family."""

    variant: str
    """The variant that the rows are of; "" for all of the family."""
    metric: str
    """What was measured."""
    value: float
    """The measure."""
    low: float
    """Lower bound of its 95 % interval; NaN where there is none."""
    high: float
    """Upper bound, likewise."""
    groups: int
    """Source questions behind it."""
    rows: int
    """Answers behind it."""
    clusters: int
    """Images behind it."""


@dataclass(frozen=True)
class Sample:
    """Some rows of a family, and resamples of their images."""

    cell: Cell
    """The rows, each with its clean row."""
    draws: ClusterDraws | None
    """Resamples of the rows; None with fewer than two images, which give no interval."""
    variant: str = ""
    """The variant that the rows are of; "" for all of the family."""

    @classmethod
    def of(cls, cell: Cell, resamples: int, seed: int) -> Self:
        """Draw resamples for all rows of a family. Families about the same images share their draws."""
        cluster = cell.rows.cluster
        return cls(cell, draw_clusters(cluster, resamples, seed) if len(np.unique(cluster)) > 1 else None)

    def where(self, index: NDArray[Any], variant: str = "") -> Self:
        """Return some of the rows, under a mask or at an index, with the draws they already have."""
        cell = Cell(self.cell.rows.take(index), self.cell.clean.take(index))
        several = self.draws is not None and len(np.unique(cell.rows.cluster)) > 1
        draws = ClusterDraws(self.draws.member[index], self.draws.counts) if self.draws and several else None
        return type(self)(cell, draws, variant or self.variant)

    def by_variant(self) -> "Iterator[Sample]":
        """Yield the rows of one variant after the other."""
        for name in np.unique(self.cell.rows.variant):
            yield self.where(self.cell.rows.variant == name, str(name))

    @cached_property
    def group(self) -> NDArray[np.intp]:
        """Of each row, its group counted from 0 without gaps."""
        return np.unique(self.cell.rows.group, return_inverse=True)[1]

    @cached_property
    def first(self) -> NDArray[np.intp]:
        """The index of the first row of each group."""
        return np.unique(self.cell.rows.group, return_index=True)[1]

    @cached_property
    def group_weights(self) -> Array:
        """Of each row, one over the rows of its group, so that every group counts once."""
        return 1 / np.bincount(self.group)[self.group]

    def means(self, columns: Mapping[str, ArrayLike], weights: ArrayLike = 1.0) -> Iterator[Finding]:
        """Yield the weighted mean of each column with its interval; all come from the same resamples.

        Args:
            columns: n numbers under the name of their metric.
            weights: what each row counts for: n numbers, or one for all.
        """
        if not len(self.cell.rows):
            return
        values = np.column_stack([np.asarray(column, np.float64) for column in columns.values()])
        weight = np.broadcast_to(np.asarray(weights, np.float64), len(values))
        resampled = None if self.draws is None else self.draws.means(values, weight)
        for place, (metric, mean) in enumerate(zip(columns, weight @ values / weight.sum(), strict=True)):
            yield self.fact(metric, mean, None if resampled is None else resampled[:, place])

    def fact(self, metric: str, value: SupportsFloat, resampled: Array | None = None) -> Finding:
        """Return a finding about these rows, with an interval where its resampled values are given."""
        interval = (np.nan, np.nan) if resampled is None else percentile_interval(resampled)
        rows = self.cell.rows
        counts = len(np.unique(rows.group)), len(rows), len(np.unique(rows.cluster))
        return Finding(self.variant, metric, float(value), *interval, *counts)

    def calibration(self) -> Iterator[Finding]:
        """Yield the calibration error of the rows whose confidence is known; all of them count alike.

        Its interval is biased upwards (see `resampled_calibration_error`): compare errors by their values.
        """
        known = self.where(np.isfinite(self.cell.rows.confidence))
        confidence, score = known.cell.rows.confidence, known.cell.rows.score
        if not len(score):
            return
        resampled = None
        if known.draws is not None:
            draws = known.draws._replace(counts=known.draws.counts[:ECE_RESAMPLES])
            resampled = resampled_calibration_error(draws, confidence, score)
        yield known.fact("ece", expected_calibration_error(confidence, score), resampled)


def as_table(findings: Iterator[tuple[Evaluation, str, Finding]]) -> pd.DataFrame:
    """Return findings as a table with typed columns, also where there is none.

    Args:
        findings: each with the evaluation and the family it is about.

    Returns:
        Columns ``model``, ``dataset``, ``split``, ``family``, then those of `Finding`.
    """
    places = ["model", "dataset", "split", "family"]
    rows = [(one.model, one.dataset, one.split, family, *finding) for one, family, finding in findings]
    table = pd.DataFrame(rows, columns=[*places, *Finding._fields])
    kinds = dict.fromkeys([*places, "variant", "metric"], "str")
    kinds |= dict.fromkeys(["value", "low", "high"], "float64") | dict.fromkeys(["groups", "rows", "clusters"], "int64")
    return table.astype(kinds)
