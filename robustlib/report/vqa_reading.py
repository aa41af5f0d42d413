"""What the tables of the benchmark say, in sentences that are computed and so hold for any source."""

from collections.abc import Sequence

import pandas as pd

from robustlib.metrics.vqa_bench_frames import corruption_summary, model_summary
from robustlib.report.tables import round_text
from robustlib.report.vqa_evidence import Evidence
from robustlib.report.vqa_figure_data import prepare_weightings
from robustlib.report.vqa_layout import SUBMETRIC_LABELS, label_of


def reading(evidence: Evidence, preferences: Sequence[float] | None = None) -> str:
    """Return a Markdown list of what stands out in Tables 1 to 3."""
    models, corruptions = model_summary(evidence.cube, preferences), corruption_summary(evidence.cube, preferences)
    corruptions.index = corruptions.index.map(label_of)
    clean, vre, strength = models["clean_accuracy"], models["vre"], corruptions["vre"]
    sizes = pd.Series({model: evidence.parameters[model] / 1e6 for model in evidence.cube.models})
    sentences = [
        f"Accuracy on clean images: from {_lowest(clean)} to {_highest(clean)}.",
        f"Lowest VRE (most robust): {_lowest(vre)}; highest: {_highest(vre)}.",
        f"Strongest corruption by VRE: {_highest(strength)}; weakest: {_lowest(strength)}.",
        f"Largest relative drop of a corruption: {_highest(corruptions['relative_drop'])}, as a share.",
        f"Size in millions of parameters: from {_lowest(sizes, 1)} to {_highest(sizes, 1)}.",
    ]
    return "\n".join(f"- {sentence}" for sentence in sentences)


def reading_of_weightings(evidence: Evidence) -> str:
    """Return a sentence that says which model is the most robust under each of the six weightings."""
    best = [
        f"{_lowest(block.set_index('model')['vre'])} with {_weighting_text(str(name))}"
        for name, block in prepare_weightings(evidence).groupby("weighting", sort=False)
    ]
    return f"Lowest VRE: {'; '.join(best)}."


def _weighting_text(name: str) -> str:
    return f"most weight on {SUBMETRIC_LABELS[name].lower()}" if name in SUBMETRIC_LABELS else "equal weights"


def _lowest(values: pd.Series, decimals: int = 3) -> str:
    defined = values.dropna()
    return f"{defined.idxmin()} ({round_text(defined.min(), decimals)})" if len(defined) else "undefined"


def _highest(values: pd.Series, decimals: int = 3) -> str:
    defined = values.dropna()
    return f"{defined.idxmax()} ({round_text(defined.max(), decimals)})" if len(defined) else "undefined"
