"""Numbers about the families form_choice and negation: is it the same judgement in another form, or turned round?"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from robustlib.metrics.arrays import Array
from robustlib.metrics.families import accuracies
from robustlib.metrics.samples import Finding, Sample

YES = 1
"""Place of "yes" among the options of a yes/no question."""

BAND = (0.9, 1.1)
"""Sums of the probabilities of yes to a question and to its negation that count as consistent, bounds included."""


def form_choice(sample: Sample) -> Iterator[Finding]:
    """Yield whether a yes/no question and a choice agree.

    ``noul_to_choice``: ``accuracy``, ``clean_accuracy``, ``accuracy_change``, ``agreement`` (same answer), and of the
    probability of yes in both forms ``gap`` (choice minus yes/no) and ``abs_gap``, also its ``abs_gap_p50``,
    ``abs_gap_p90`` and ``abs_gap_max``.

    ``choice_to_noul``: a choice is put together again from its yes/no questions, the answer being the option with the
    highest probability of yes. ``accuracy``, ``clean_accuracy``, ``accuracy_change``, ``agreement``,
    ``chance_accuracy``; ``yes_no_accuracy`` (of the single questions); ``yes_sum`` (of the probabilities of yes) with
    ``yes_sum_min`` and ``yes_sum_max``; ``abs_gap`` (mean difference between an option's probability of yes and its
    clean probability) and its percentiles; ``incomplete`` counts the choices that lack the probability of one of their
    questions and are left out.
    """
    variants = {variant.variant: variant for variant in sample.by_variant()}
    if "noul_to_choice" in variants:
        yield from _as_choice(variants["noul_to_choice"])
    if "choice_to_noul" in variants:
        yield from _as_yes_no(variants["choice_to_noul"])


def negation(sample: Sample) -> Iterator[Finding]:
    """Yield whether the answer to a negated question is the opposite; all rows together, and each frame.

    ``accuracy`` (of the negated question), ``clean_accuracy``, ``accuracy_change``; ``flip_rate``, the share of answers
    that are *not* the opposite of the clean one; and of the sum of the probabilities of yes to both questions, which is
    1 for a consistent model, ``complement_sum`` with ``complement_sum_min`` and ``complement_sum_max``,
    ``complement_deviation`` (mean distance from 1) and ``complement_outside`` (share outside of 0.9 to 1.1).
    """
    for some in (sample, *sample.by_variant()):
        yield from some.means(accuracies(some.cell))
        chosen = some.where(some.cell.rows.options == 2)
        yield from chosen.means({"flip_rate": chosen.cell.rows.answer != 1 - chosen.cell.clean.answer})
        known = _with_yes(some)
        if not len(known.cell.rows):
            continue
        total = known.cell.rows.probs[:, YES] + known.cell.clean.probs[:, YES]
        low, high = BAND
        columns = {
            "complement_sum": total,
            "complement_deviation": np.abs(total - 1),
            "complement_outside": (total < low) | (total > high),
        }
        yield from known.means(columns)
        yield known.fact("complement_sum_min", total.min())
        yield known.fact("complement_sum_max", total.max())


def _as_choice(variant: Sample) -> Iterator[Finding]:
    cell = variant.cell
    yield from variant.means(accuracies(cell) | {"agreement": cell.rows.answer == cell.clean.answer})
    known = _with_yes(variant)
    if not len(known.cell.rows):
        return
    gap = known.cell.rows.probs[:, YES] - known.cell.clean.probs[:, YES]
    yield from known.means({"gap": gap, "abs_gap": np.abs(gap)})
    yield from _spread(known, np.abs(gap))


def _as_yes_no(variant: Sample) -> Iterator[Finding]:
    yes, whole = _reassemble(variant)
    yield variant.fact("incomplete", np.count_nonzero(~whole))
    choices, yes = variant.where(variant.first[whole]), yes[whole]
    clean = choices.cell.clean
    if not len(clean):
        return
    top = np.nanargmax(yes, axis=1)
    right = (top == clean.gold).astype(np.float64)
    single = np.bincount(variant.group, variant.cell.rows.score) / np.bincount(variant.group)
    gap = np.nanmean(np.abs(yes - clean.probs), axis=1)
    total = np.nansum(yes, axis=1)
    columns = {
        "accuracy": right,
        "clean_accuracy": clean.score,
        "accuracy_change": right - clean.score,
        "agreement": top == clean.answer,
        "yes_no_accuracy": single[whole],
        "yes_sum": total,
        "abs_gap": gap,
    }
    yield from choices.means(columns)
    yield choices.fact("yes_sum_min", total.min())
    yield choices.fact("yes_sum_max", total.max())
    yield choices.fact("chance_accuracy", np.mean(1 / clean.options))
    yield from _spread(choices, gap)


def _reassemble(variant: Sample) -> tuple[Array, NDArray[np.bool_]]:
    """Return groups x k probabilities of yes, NaN where there is none, and which groups have one for every option."""
    rows, options = variant.cell.rows, variant.cell.clean.options
    yes = np.full((len(variant.first), rows.probs.shape[1]), np.nan)
    yes[variant.group, rows.target] = rows.probs[:, YES]
    return yes, np.isfinite(yes).sum(axis=1) == options[variant.first]


def _with_yes(sample: Sample) -> Sample:
    """Return the rows for which both questions have a probability of yes."""
    rows, clean = sample.cell
    return sample.where(np.isfinite(rows.probs[:, YES]) & np.isfinite(clean.probs[:, YES]))


def _spread(sample: Sample, gap: Array) -> Iterator[Finding]:
    for name, value in zip(("p50", "p90", "max"), np.quantile(gap, [0.5, 0.9, 1]), strict=True):
        yield sample.fact(f"abs_gap_{name}", value)
