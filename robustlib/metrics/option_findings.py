"""Numbers about the families option_set and abstain: what other options do to an answer and to its confidence."""

from collections.abc import Iterator

import numpy as np

from robustlib.metrics.arrays import Array
from robustlib.metrics.families import accuracies, flips
from robustlib.metrics.samples import Finding, Sample

_LEAST_PROBABILITY = 1e-6
"""Probabilities below this count as this, so that their logarithm is finite."""


def option_set(sample: Sample) -> Iterator[Finding]:
    """Yield, for each variant, what one option more or less does; every row counts once.

    ``accuracy``, ``clean_accuracy``, ``accuracy_change``, ``flip_rate`` (picking the added option is a flip), and
    ``flip_rate_kept``, only of rows whose clean answer is still offered. ``distractor_pick_rate``. Over all pairs of
    options that both questions offer, the change of the difference of their logits, averaged within a row:
    ``logit_shift`` (signed) and ``abs_logit_shift``, and from the logarithms of the probabilities
    ``abs_log_odds_shift``.
    """
    for variant in sample.by_variant():
        cell = variant.cell
        yield from variant.means(accuracies(cell) | {"flip_rate": flips(cell)})
        chosen = cell.clean.answer[:, None]
        kept = variant.where(((cell.rows.order == chosen) & (chosen >= 0)).any(axis=1))
        yield from kept.means({"flip_rate_kept": flips(kept.cell)})
        if variant.variant == "add_distractor":
            yield from variant.means({"distractor_pick_rate": cell.rows.choice == cell.rows.target})
        yield from _shifts(variant)


def abstain(sample: Sample) -> Iterator[Finding]:
    """Yield what a model does when no option is right, or when it may say so; every row counts once.

    ``drop_gold``: ``confidence`` (mean of the largest probability), ``confidence_above_half`` and
    ``confidence_above_0.8`` (shares), and the same of the clean rows with ``clean_`` in front. ``add_none`` and
    ``add_none_shuffled``: ``none_rate`` and ``none_probability``; of ``add_none`` also the accuracies.
    ``none_rate_rise``: how much more often "none" is picked with another image, over questions that were asked both
    ways.
    """
    variants = {variant.variant: variant for variant in sample.by_variant()}
    if "drop_gold" in variants:
        yield from _confidence(variants["drop_gold"])
    for name in ("add_none", "add_none_shuffled"):
        if name in variants:
            yield from _none_of_the_above(variants[name])
    if variants.keys() >= {"add_none", "add_none_shuffled"}:
        asked, shuffled = variants["add_none"].cell.rows, variants["add_none_shuffled"].cell.rows
        _, here, there = np.intersect1d(shuffled.group, asked.group, return_indices=True)
        picks = [(rows.choice == rows.target)[index] for rows, index in ((shuffled, here), (asked, there))]
        both = variants["add_none_shuffled"].where(here)
        yield from both.means({"none_rate_rise": np.subtract(*picks, dtype=np.float64)})


def _none_of_the_above(variant: Sample) -> Iterator[Finding]:
    rows = variant.cell.rows
    yield from variant.means({"none_rate": rows.choice == rows.target})
    if variant.variant == "add_none":
        yield from variant.means(accuracies(variant.cell))
    probability = rows.probs[np.arange(len(rows)), rows.target]
    known = np.isfinite(probability)
    yield from variant.where(known).means({"none_probability": probability[known]})


def _confidence(variant: Sample) -> Iterator[Finding]:
    known = variant.where(np.isfinite(variant.cell.rows.probs[:, 0]) & np.isfinite(variant.cell.clean.probs[:, 0]))
    for prefix, rows in (("", known.cell.rows), ("clean_", known.cell.clean)):
        largest = np.fmax.reduce(rows.probs, axis=1)
        yield from known.means(
            {
                f"{prefix}confidence": largest,
                f"{prefix}confidence_above_half": largest > 0.5,
                f"{prefix}confidence_above_0.8": largest > 0.8,
            }
        )


def _shifts(variant: Sample) -> Iterator[Finding]:
    """Yield the mean shifts of logit differences and of log odds between the options that both questions offer."""
    rows, clean = variant.cell
    offered = rows.order >= 0
    source = rows.order.clip(0)
    for name, (here, there) in {
        "logit": (rows.logits, clean.logits),
        "log_odds": (_logarithm(rows.probs), _logarithm(clean.probs)),
    }.items():
        moved = np.where(offered, here - np.take_along_axis(there, source, axis=1), np.nan)
        first, second = np.triu_indices(moved.shape[1], k=1)
        pairs = moved[:, first] - moved[:, second]
        known = np.isfinite(pairs).any(axis=1)
        some = variant.where(known)
        columns = {f"abs_{name}_shift": np.nanmean(np.abs(pairs[known]), axis=1)}
        if name == "logit":
            columns["logit_shift"] = np.nanmean(pairs[known], axis=1)
        yield from some.means(columns)


def _logarithm(probabilities: Array) -> Array:
    logarithm: Array = np.log(np.maximum(probabilities, _LEAST_PROBABILITY))  # unlike fmax, maximum keeps NaN
    return logarithm
