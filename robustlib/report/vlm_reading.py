"""What the tables of VLM-RobustBench say, in sentences that are computed and so hold for any sweep."""

from collections.abc import Mapping

import pandas as pd

from robustlib.metrics.configurations import configurations, spatial_columns
from robustlib.report.tables import round_text
from robustlib.report.vlm_evidence import BenchEvidence
from robustlib.report.vlm_spec import listed

Frames = Mapping[str, pd.DataFrame]
"""Those of `BenchEvidence`, about one data set."""


def reading(evidence: BenchEvidence) -> str:
    """Return what stands out on each data set, as Markdown."""
    parts = []
    for dataset in evidence.frames["models"]["dataset"].unique():
        frames = {kind: frame[frame["dataset"] == dataset] for kind, frame in evidence.frames.items()}
        parts += [f"On {dataset}:\n", *(f"- {sentence(frames)}" for sentence in _SENTENCES), ""]
    return "\n".join(parts)


def _accuracy(frames: Frames) -> str:
    clean = frames["models"].set_index("model")["clean_accuracy"]
    return f"Accuracy on clean images is from {_least(clean, '%')} to {_most(clean, '%')}."


def _gain(frames: Frames) -> str:
    gain = frames["models"].set_index("model")["visual_gain"]
    blind = list(gain.index[gain <= 0])
    doubt = f" No visual gain, and so no relative corruption error: {listed(blind)}." if blind else ""
    return f"The images are worth from {_least(gain, 'points')} to {_most(gain, 'points')} (visual gain).{doubt}"


def _best(frames: Frames) -> str:
    models = frames["models"].set_index("model")
    models = models[models["averaged"]]
    return (
        f"Most robust by mean corruption error: {_least(models['mce'], '%')}; by mean relative corruption error: "
        f"{_least(models['mrce'], '%')}; by severe failures: {_least(models['severe_failure_rate'], '%')}."
    )


def _worst(frames: Frames) -> str:
    worst = frames["configurations"].nlargest(1, "drop").iloc[0]
    mean = frames["means"].set_index("configuration")["drop"]
    return (
        f"The largest drop of one model is {round_text(worst['drop'], 1)} points ({worst['model']} under "
        f"{worst['configuration']}); the largest mean drop is under {_most(mean, 'points')}."
    )


def _severity(frames: Frames) -> str:
    drops = frames["means"].set_index("configuration")
    low, high = (drops.loc[drops["level"] == level, "drop"] for level in ("low", "high"))
    violations = round_text(frames["overall"].iloc[0]["violation_rate"], 0)
    return (
        f"{(high < low.max()).sum()} of {len(high)} corruptions cost less at high than the worst one at low, "
        f"{_most(low, 'points')}; {violations} % of corruptions and models cost less at a stronger level than at a "
        f"weaker one."
    )


def _tail(frames: Frames) -> str:
    overall = frames["overall"].iloc[0]
    count, share = round_text(overall["catastrophic_count"], 0), round_text(overall["tail_share"], 0)
    spatial = round_text(100 * len(spatial_columns()) / len(configurations()), 0)
    return (
        f"Of {count} catastrophic cases {share} % come from spatial and resampling corruptions, which are {spatial} % "
        f"of the configurations."
    )


def _certainty(frames: Frames) -> str:
    tiers = frames["certainty"].groupby("tier", sort=False)[["configurations", "sure"]].sum()
    counts = [f"{row['sure']} of {row['configurations']} {tier}" for tier, row in tiers.iterrows()]
    return f"Verdicts that this many questions can carry (95 % of resamples agree): {listed(counts)}."


def _unread(frames: Frames) -> str:
    models = frames["models"].set_index("model")
    return (
        f"Answers that could not be had or read: at most {_most(models['unread_clean'], '%')} on clean images, "
        f"{_most(models['unread_corrupted'], '%')} on corrupted ones."
    )


_SENTENCES = (_accuracy, _gain, _best, _worst, _severity, _tail, _certainty, _unread)


def _least(values: pd.Series, unit: str) -> str:
    return _named(values.idxmin(), values.min(), unit) if values.notna().any() else "undefined"


def _most(values: pd.Series, unit: str) -> str:
    return _named(values.idxmax(), values.max(), unit) if values.notna().any() else "undefined"


def _named(name: object, value: float, unit: str) -> str:
    return f"{name} with {round_text(value, 1)} {unit}"
