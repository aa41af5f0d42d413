"""How far a corruption moves what a model looks at: the maps of an answer on the clean and on the corrupted image.

The visual robustness benchmark for VQA shows four such pairs and says that they are "slightly shifted or dispersed"
(Section 7.6, Figure 6); here that is measured.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from robustlib.errors import InvalidValueError
from robustlib.metrics.arrays import Array
from robustlib.metrics.bootstrap import ClusterDraws, draw_clusters, percentile_interval
from robustlib.metrics.checks import image_names

ANOTHER_IMAGE = "another_image"
"""The variant of pairs that no corruption made: the clean maps of two images, which shows what chance would give."""

_QUESTION = ["model", "dataset", "split", "question_id"]
_GRID = ["rows", "columns"]
_MEASURES = ("correlation", "shift", "captions_kept")


class Drift(NamedTuple):
    """How far n pairs of maps are from each other."""

    correlation: Array
    """n: Pearson's, in [-1, 1]."""
    shift: Array
    """n: distance between the centres of mass as a share of the image's diagonal, in [0, 1); each axis in units of the
    image's own side."""
    constant: NDArray[np.bool_]
    """n: whether one of the two is the same everywhere."""


def map_drift(first: ArrayLike, second: ArrayLike) -> Drift:
    """Compare pairs of maps.

    A map that is the same everywhere points nowhere: its centre is the middle of the image, and it has, in place of the
    undefined correlation, 1 with another such map and 0 with any other.

    Args:
        first: n x rows x columns, at least 0.
        second: the same shape.

    Raises:
        InvalidValueError: other shapes, no cell, or a value that is negative or not finite.
    """
    maps = [np.asarray(values, np.float64) for values in (first, second)]
    if maps[0].ndim != 3 or maps[0].shape != maps[1].shape or 0 in maps[0].shape[1:]:
        raise InvalidValueError(
            f"Maps must be n x rows x columns, as many and of one grid, got {maps[0].shape} and {maps[1].shape}."
        )
    for values in maps:
        if not (np.isfinite(values) & (values >= 0)).all():
            raise InvalidValueError(f"Maps must be finite and at least 0, got {values.min():g} to {values.max():g}.")
    flat = [np.ptp(values, axis=(1, 2)) == 0 for values in maps]
    away = [_standardised(values) for values in maps]
    correlation = np.where(flat[0] & flat[1], 1.0, (away[0] * away[1]).sum(axis=1).clip(-1, 1))
    apart = _centres(maps[0]) - _centres(maps[1])
    return Drift(correlation, np.hypot(*apart.T) / np.sqrt(2), flat[0] | flat[1])


def explanation_drift(explanations: pd.DataFrame) -> pd.DataFrame:
    """Compare the explanation of every answer about a corrupted image with that of the same question's clean image.

    Args:
        explanations: the table of `robustlib.sweep.explanations.read_explanations`.

    Returns:
        One row per pair: ``model``, ``dataset``, ``split``, ``question_id``, ``image_id``, ``suite``, ``variant``,
        ``severity``, those of `Drift`, ``changed`` (whether the answer did), and ``captions_kept``, the share of the
        clean image's captions that the corrupted one has too, NaN for models that do not caption. Besides, for every
        clean map, a pair with that of another image by the same model: variant `ANOTHER_IMAGE`, severity 0.

    Raises:
        InvalidValueError: there is no clean map of a question, or it has another grid.
    """
    is_clean = explanations["variant"] == "clean"
    clean, corrupted = explanations[is_clean], explanations[~is_clean]
    pairs = pd.concat([_with_clean(corrupted, clean), *map(_with_another, _by_grid(clean))], ignore_index=True)
    for grid in _GRID:
        if len(odd := pairs[pairs[grid] != pairs[f"{grid}_clean"]]):
            question, variant = odd.iloc[0][["question_id", "variant"]]
            raise InvalidValueError(f"The maps of question {question} under {variant} and clean have other {grid}.")
    measured = pd.concat([_measured(block) for block in _by_grid(pairs)]).sort_index()
    changed = measured["answer"] != measured["answer_clean"]
    kept = list(map(_captions_kept, measured["captions_clean"], measured["captions"]))
    columns = [*_QUESTION, "image_id", "suite", "variant", "severity", *Drift._fields, "changed", "captions_kept"]
    return measured.assign(changed=changed, captions_kept=kept)[columns]


def drift_summary(pairs: pd.DataFrame, by: Sequence[str], resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Return the mean drift of groups of pairs with intervals that draw whole images.

    Args:
        pairs: rows of `explanation_drift`.
        by: the columns that make a group, such as model, variant and severity.
        resamples: see `robustlib.metrics.draw_clusters`.
        seed: likewise.

    Returns:
        Columns of `by`; ``pairs`` and ``images``, how many; ``changed``, the share of changed answers, NaN where all
        pairs are `ANOTHER_IMAGE`; ``constant``, how many maps point nowhere; ``correlation``, ``shift`` and
        ``captions_kept``, each with ``_low`` and ``_high``, its 95 % interval: NaN for fewer than two images. Captions
        are of those models alone that write any.
    """
    rows = []
    for group, block in pairs.groupby(list(by), sort=False):
        images = image_names(block)
        changed = block.loc[block["variant"] != ANOTHER_IMAGE, "changed"].mean()
        counts = [len(block), images.nunique(), changed, block["constant"].sum()]
        draws = draw_clusters(images, resamples, seed) if counts[1] > 1 else None
        numbers = [number for name in _MEASURES for number in _mean(block[name].to_numpy(np.float64), draws)]
        rows.append([*group, *counts, *numbers])
    ends = [f"{name}{end}" for name in _MEASURES for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns=[*by, "pairs", "images", "changed", "constant", *ends])


def _mean(values: Array, draws: ClusterDraws | None) -> tuple[float, float, float]:
    """Return the mean of what is not NaN, with its interval."""
    known = np.isfinite(values)
    if not known.any():
        return np.nan, np.nan, np.nan
    mean = float(values[known].mean())
    if draws is None:
        return mean, np.nan, np.nan
    return mean, *percentile_interval(draws.means(np.where(known, values, 0), known))


def _standardised(maps: Array) -> Array:
    """Return n x cells: distances from the mean, of length 1 together, or all 0 in a constant map."""
    cells = maps.reshape(len(maps), -1)
    largest = cells.max(axis=1, keepdims=True)
    scaled = cells / np.where(largest > 0, largest, 1)  # so that the squares of tiny values do not vanish
    away = scaled - scaled.mean(axis=1, keepdims=True)
    away[np.ptp(cells, axis=1) == 0] = 0
    length = np.linalg.norm(away, axis=1, keepdims=True)
    standardised: Array = away / np.where(length > 0, length, 1)
    return standardised


def _centres(maps: Array) -> Array:
    """Return the centre of mass of each map, n x (y, x), from 0 to 1."""
    largest = maps.max(axis=(1, 2), keepdims=True)
    weights = np.where(largest > 0, maps, 1) / np.where(largest > 0, largest, 1)
    mass = weights.sum(axis=(1, 2))
    y, x = ((np.arange(count) + 0.5) / count for count in maps.shape[1:])
    return np.stack([weights.sum(axis=2) @ y / mass, weights.sum(axis=1) @ x / mass], axis=1)


def _by_grid(rows: pd.DataFrame) -> list[pd.DataFrame]:
    return [block for _, block in rows.groupby(_GRID, sort=False)]


def _with_clean(corrupted: pd.DataFrame, clean: pd.DataFrame) -> pd.DataFrame:
    pairs = corrupted.merge(
        clean[[*_QUESTION, *_GRID, "map", "answer", "captions"]], "left", _QUESTION, suffixes=("", "_clean")
    )
    if len(alone := pairs[pairs["map_clean"].isna()]):
        raise InvalidValueError(f"Question {alone.iloc[0]['question_id']} has no explanation of its clean image.")
    return pairs


def _with_another(clean: pd.DataFrame) -> pd.DataFrame:
    """Pair each clean map of one grid with that of a question almost half the way further on by the same model.

    Exactly half would make every pair twice, once from each side.
    """
    parts = []
    for _, own in clean.groupby("model", sort=False):
        ahead = max(1, (len(own) - 1) // 2)
        other = own.iloc[(np.arange(len(own)) + ahead) % len(own)].add_suffix("_clean").set_index(own.index)
        parts.append(pd.concat([own, other], axis=1)[(own["image_id"] != other["image_id_clean"])])
    return pd.concat(parts).assign(suite="", variant=ANOTHER_IMAGE, severity=0)


def _measured(pairs: pd.DataFrame) -> pd.DataFrame:
    shape = (len(pairs), *pairs.iloc[0][_GRID].astype(int))
    maps = [np.stack(list(pairs[name])).reshape(shape) for name in ("map_clean", "map")]
    return pairs.assign(**map_drift(*maps)._asdict())


def _captions_kept(clean: Sequence[str], corrupted: Sequence[str]) -> float:
    return len(set(clean) & set(corrupted)) / len(set(clean)) if len(clean) else np.nan
