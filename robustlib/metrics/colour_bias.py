"""Colour bias (visual robustness benchmark for VQA, Section 8.2, Figure 9): which colours are seen in grey images.

A grey image shows no colour, so that a chromatic answer about it comes from elsewhere: from the words of the question,
the shape of a thing, its brightness, or what was most common in training. A model without the bias would answer with a
grey, or not at all. What was the right answer no longer is, unless it was a grey; that is why the document leaves grey
images out of its accuracies. To be "right" still, of a chromatic thing, is part of the bias here.
"""

import numpy as np
import pandas as pd

from robustlib.errors import InvalidValueError
from robustlib.metrics.answer_types import answer_type, names_chromatic
from robustlib.metrics.bootstrap import draw_clusters, percentile_interval
from robustlib.metrics.checks import image_names, require_columns
from robustlib.metrics.error_kinds import RIGHT, join_clean
from robustlib.scoring.vqa import normalise_answer

SUITE = "vqa_bench_extra"
"""The corruptions that take the colour away: grey, and inverted grey."""

SHARES = ("chromatic", "kept", "right")
"""What is measured: see `colour_bias_shares`."""

_QUESTION = ["dataset", "split", "question_id"]


def colour_bias_shares(
    predictions: pd.DataFrame, questions: pd.DataFrame, resamples: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """Measure what models answer to colour questions about images without colour.

    A colour question is one whose right answer is a colour by `robustlib.metrics.answer_types.answer_type`.

    Args:
        predictions: the table of `robustlib.read_predictions`; its clean rows and those of `SUITE` are read.
        questions: ``dataset``, ``split``, ``question_id``, ``question`` (its text) and ``reference`` (a right answer).
        resamples: of images, for the intervals.
        seed: of the resamples.

    Returns:
        One row per model and condition ("clean", then those of `SUITE`): ``model``, ``condition``, ``questions``,
        ``images``, and shares of the questions, each with ``_low`` and ``_high``, the ends of its 95 % interval (whole
        images are drawn; NaN where there is only one):
        ``chromatic``, the answer names a colour that is not black, white or grey;
        ``kept``, it is the answer given on the clean image;
        ``right``, it scores at least `RIGHT` by the reference answers of the coloured image.
        There is no row where no question asks for a colour.

    Raises:
        InvalidValueError: there is no row of `SUITE`, a column is missing, or a row lacks its clean row.
    """
    require_columns(predictions, [*_QUESTION, "model", "image_id", "suite", "family", "variant", "answer", "score"])
    grey = predictions[predictions["suite"] == SUITE]
    if grey.empty:
        raise InvalidValueError(
            f"The predictions hold no answer about grey images: add the suite {SUITE!r}, and severity 1."
        )
    types = [answer_type(*words) for words in zip(questions["question"], questions["reference"], strict=True)]
    asked = questions.loc[np.array(types, dtype=object) == "colour", _QUESTION]
    rows = pd.concat([predictions[predictions["family"] == "clean"], grey]).merge(asked, on=_QUESTION)
    rows = join_clean(rows, predictions)
    given = rows["answer"].map(normalise_answer)
    rows["chromatic"] = given.map(names_chromatic).astype(bool)
    rows["kept"] = (given != "") & (given == rows["clean_answer"].map(normalise_answer))
    rows["right"] = rows["score"] >= RIGHT
    cells = [
        {"model": model, "condition": condition} | _shares(cell, resamples, seed)
        for (model, condition), cell in rows.groupby(["model", "variant"], sort=False)
    ]
    bounds = [name for share in SHARES for name in (share, f"{share}_low", f"{share}_high")]
    table = pd.DataFrame(cells, columns=["model", "condition", "questions", "images", *bounds])
    return table.sort_values("model", kind="stable", key=lambda names: pd.factorize(names)[0], ignore_index=True)


def _shares(cell: pd.DataFrame, resamples: int, seed: int) -> dict[str, float]:
    values, images = cell[list(SHARES)].to_numpy(np.float64), image_names(cell)
    found = {"questions": len(cell), "images": images.nunique()} | dict(zip(SHARES, values.mean(axis=0), strict=True))
    if found["images"] < 2:
        return found
    resampled = draw_clusters(images, resamples, seed).means(values)
    for share, estimates in zip(SHARES, resampled.T, strict=True):
        found[f"{share}_low"], found[f"{share}_high"] = percentile_interval(estimates)
    return found
