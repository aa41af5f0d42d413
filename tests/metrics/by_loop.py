"""The main numbers of the families, worked out the plain way: one row, one image, one draw after the other.

Slow on purpose: the vectorised statistics are checked against it, and `make bench` compares their speed to its own.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from robustlib.metrics.bootstrap import draw_clusters

Row = Mapping[Any, Any]
Numbers = dict[str, tuple[float, float, float]]
BINS, ECE_RESAMPLES = 15, 400


def family_by_loop(rows: Sequence[Row], clean: Mapping[str, Row], resamples: int, seed: int) -> Numbers:
    """Return value, low and high of the main metrics of one family on one data set."""
    groups: dict[str, list[Row]] = defaultdict(list)
    images: dict[str, set[str]] = defaultdict(set)
    rows_on: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["group_id"]].append(row)
        images[row["image_id"]].add(row["group_id"])
        rows_on[row["image_id"]].append(row)
    flips_in = {group: [_flips(row, clean[group]) for row in members] for group, members in groups.items()}
    measures: dict[str, dict[str, float]] = {
        "accuracy": {group: fmean(row["score"] for row in members) for group, members in groups.items()},
        "clean_accuracy": {group: clean[group]["score"] for group in groups},
        "flip_rate": {group: fmean(flips) for group, flips in flips_in.items()},
        "any_flip_rate": {group: max(flips) for group, flips in flips_in.items()},
    }
    measures["accuracy_change"] = {
        group: measures["accuracy"][group] - measures["clean_accuracy"][group] for group in groups
    }
    names = sorted(images)
    counts = draw_clusters(names, resamples, seed).counts.astype(int).tolist()
    numbers = {}
    for name, of_group in measures.items():
        means = []
        for drawn in counts:
            total = number = 0.0
            for image, times in zip(names, drawn, strict=True):
                for group in images[image]:
                    total += times * of_group[group]
                    number += times
            means.append(total / number)
        numbers[name] = (fmean(of_group.values()), *_bounds(means))
    errors = []
    for drawn in counts[:ECE_RESAMPLES]:
        repeated = [row for image, times in zip(names, drawn, strict=True) for row in rows_on[image] * times]
        errors.append(ece_by_loop((row["confidence"], row["score"]) for row in repeated))
    numbers["ece"] = (ece_by_loop((row["confidence"], row["score"]) for row in rows), *_bounds(errors))
    return numbers


def floor_by_loop(confidences: Sequence[float], images: Sequence[str], simulations: int, seed: int) -> list[float]:
    """Return the mean of the independent and of the clustered floor."""
    random = np.random.default_rng(seed)
    means = []
    for names in (range(len(confidences)), images):
        errors = []
        for _ in range(simulations):
            luck = {name: random.random() for name in dict.fromkeys(names)}
            errors.append(ece_by_loop((q, float(luck[name] < q)) for q, name in zip(confidences, names, strict=True)))
        means.append(fmean(errors))
    return means


def ece_by_loop(answers: Iterable[tuple[float, float]]) -> float:
    """Return the expected calibration error of (confidence, score) pairs."""
    gaps = [0.0] * BINS
    number = 0
    for confidence, score in answers:
        place = 0
        while place < BINS - 1 and confidence > (place + 1) / BINS:
            place += 1
        gaps[place] += confidence - score
        number += 1
    return sum(map(abs, gaps)) / number


def _flips(row: Row, clean: Row) -> float:
    return float(row["order"][row["choice"]] != clean["choice"])


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
