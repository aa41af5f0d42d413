"""What it is worth to treat images before a model sees them: accuracy with a treatment less accuracy without.

The Visual Robustness Benchmark for VQA (Section 9) tells white-box treatment, which knows the type of corruption, from
black-box treatment, which does not. Black-box is one treatment whatever the corruption. White-box is a choice among the
same answers: for every corruption the treatment that suits its kind. The kinds stand in `SUITED`; they were chosen by
how a corruption damages an image, never by what a model then answered.
"""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from robustlib.corruptions import find_corruption
from robustlib.errors import InvalidValueError
from robustlib.metrics.bootstrap import draw_clusters, percentile_interval
from robustlib.metrics.checks import require_columns

CLEAN, ALL, WHITE_BOX = "clean", "all corruptions", "white box"

SUITED: Mapping[str, str] = {
    "impulse_noise": "denoise/median",  # values are lost here and there: the neighbours still have them
    "poisson_noise": "denoise/median",  # likewise, all of them to white
    "gaussian_noise": "denoise/nl_means",  # every value is disturbed a little: averaging like patches cancels that
    "speckle_noise": "denoise/nl_means",
    "shot_noise": "denoise/nl_means",
    "jpeg_compression": "denoise/deblock",  # blocks and ripples in areas that were even
}
"""By the function that corrupts, the function that restores; what is missing here no denoiser suits."""

_SOURCE = ["dataset", "model"]
_CELL = ["corruption", "severity", "treatment"]
_COLUMNS = [
    *(*_SOURCE, "split", "question_id", "image_id"),
    *("suite", "family", "variant", "severity", "treatment", "score"),
]


def suited_treatment(corruption: str, treatments: Sequence[str]) -> str:
    """Return the treatment that suits a corruption by its kind, the first of several strengths, "" for none.

    Args:
        corruption: ``suite/name``, or "clean", which nothing suits.
        treatments: ``suite/name@severity`` each.

    Raises:
        UnknownNameError: there is no such corruption.
    """
    if corruption == CLEAN:
        return ""
    wanted = SUITED.get(find_corruption(corruption).function, "nothing")
    return next((treatment for treatment in treatments if treatment.partition("@")[0] == wanted), "")


def treatment_gains(predictions: pd.DataFrame, resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Return what every treatment gains, by data set, model and corruption, in percentage points.

    A gain is the mean over questions of the score with the treatment less the score without, both for the same question
    under the same corruption and severity, averaged over severities. Its 95 % interval resamples whole images.

    Args:
        predictions: the table of ``read_predictions(path, treated=True)``. Rows of other families than clean and
            corruption are left out.
        resamples: how many resamples the intervals are made of.
        seed: equal seeds give equal intervals.

    Returns:
        Columns ``dataset`` (with its split), ``model``, ``corruption``, ``treatment``, ``suited`` (whether white-box
        treatment takes it), ``questions``, ``images``, ``accuracy`` (without, in percent), ``gain``, ``gain_low`` and
        ``gain_high``. The corruption `CLEAN` is what a treatment costs where nothing is to be mended, `ALL` the mean
        over the others. If a treatment suits any of them, `WHITE_BOX` is one more: where nothing suits it gains 0. No
        row where nothing is treated.

    Raises:
        InvalidValueError: a column or an answer is missing, a question was asked twice, or there is only one image.
    """
    rows = name_cells(predictions)
    records: list[dict[str, object]] = []
    for (dataset, model), frame in rows.groupby(_SOURCE, sort=False):
        found = _gains(frame, f"{model} on {dataset}", resamples, seed)
        records += ({"dataset": dataset, "model": model} | record for record in found)
    numbers = ["questions", "images", "accuracy", "gain", "gain_low", "gain_high"]
    return pd.DataFrame(records, columns=[*_SOURCE, "corruption", "treatment", "suited", *numbers])


def name_cells(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the rows about clean and corrupted images, with the column ``corruption``: ``suite/name`` or `CLEAN`.

    Raises:
        InvalidValueError: a column is missing.
    """
    require_columns(predictions, _COLUMNS)
    rows = predictions.loc[predictions["family"].isin(["clean", "corruption"]), _COLUMNS]
    return rows.assign(
        dataset=rows["dataset"] + "/" + rows["split"],
        corruption=(rows["suite"] + "/" + rows["variant"]).where(rows["family"] != "clean", CLEAN),
    )


def _gains(frame: pd.DataFrame, place: str, resamples: int, seed: int) -> Iterator[dict[str, object]]:
    plain, treated = _paired_scores(frame, place)
    if not treated:
        return
    images = frame.drop_duplicates("question_id").set_index("question_id")["image_id"].loc[plain.index]
    draws = draw_clusters(images, resamples, seed)
    suited = {corruption: suited_treatment(corruption, list(treated)) for corruption in plain.columns}
    gains = {treatment: 100 * (scores - plain) for treatment, scores in treated.items()}
    if any(suited.values()):
        chosen = {name: gains[best][name] if best else 0 * plain[name] for name, best in suited.items()}
        gains[WHITE_BOX] = pd.DataFrame(chosen)
    accuracy = _with_mean(100 * plain).mean()
    for treatment, gain in gains.items():
        whole = _with_mean(gain)
        for corruption, resampled in zip(map(str, whole), draws.means(whole.to_numpy()).T, strict=True):
            low, high = percentile_interval(resampled)
            yield {
                "corruption": corruption,
                "treatment": treatment,
                "suited": suited.get(corruption, "") == treatment,
                "questions": len(plain),
                "images": images.nunique(),
                "accuracy": accuracy[corruption],
                "gain": whole[corruption].mean(),
                "gain_low": low,
                "gain_high": high,
            }


def _paired_scores(frame: pd.DataFrame, place: str) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Return scores of questions x corruptions, averaged over severities: untreated, and by treatment."""
    if frame.duplicated([*_CELL, "question_id"]).any():
        raise InvalidValueError(f"Some questions have two answers of {place} under one condition.")
    scores = frame.pivot_table("score", "question_id", _CELL)
    treatments = list(dict.fromkeys(["", *frame["treatment"]]))
    cells = frame[_CELL[:2]].drop_duplicates().itertuples(index=False)
    wanted = pd.MultiIndex.from_tuples([(*cell, name) for cell in cells for name in treatments], names=_CELL)
    scores = scores.reindex(columns=wanted)
    for corruption, severity, treatment in wanted[scores.isna().any()].to_frame().to_numpy():
        raise InvalidValueError(
            f"Every question must be asked with and without each treatment; {place} lacks answers about {corruption} "
            f"of severity {severity} {f'after {treatment}' if treatment else 'without treatment'}."
        )
    means = scores.T.groupby(level=["treatment", "corruption"], sort=False).mean()
    by_treatment = {name: means.loc[name].T for name in treatments}
    return by_treatment.pop(""), by_treatment


def _with_mean(values: pd.DataFrame) -> pd.DataFrame:
    """Add the mean over all corruptions, if there are any."""
    corrupted = values.drop(columns=CLEAN, errors="ignore")
    return values.assign(**{ALL: corrupted.mean(axis=1)}) if len(corrupted.columns) else values
