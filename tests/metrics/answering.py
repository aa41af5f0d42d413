"""Toys for the statistics of the families: a model that answers by a rule, and the predictions table it leaves."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from robustlib.data.question import Question
from robustlib.metrics.calibration import probabilities
from robustlib.perturbations import Variant, perturb
from robustlib.perturbations.variant import vary

Scorer = Callable[[Variant], Sequence[float]]
"""From what is shown to one logit for each option."""


def predict(questions: Sequence[Question], families: Iterable[str], scorer: Scorer, model: str = "toy") -> pd.DataFrame:
    """Ask the model every question as it stands and in the given families."""
    variants = [vary(question, "clean", "clean") for question in questions]
    for family in families:
        variants += perturb(questions, family)
    return pd.DataFrame([answer_row(variant, scorer, model) for variant in variants])


def answer_row(variant: Variant, scorer: Scorer, model: str) -> dict[str, Any]:
    shown = variant.question
    logits = np.array(scorer(variant), dtype=np.float64)
    probs = probabilities(logits[None])[0]
    choice = int(probs.argmax())
    return {
        "model": model,
        "dataset": shown.dataset,
        "split": "test",
        "question_id": variant.group_id if variant.family == "clean" else shown.id,
        "group_id": variant.group_id,
        "image_id": shown.image_id,
        "kind": shown.kind,
        "suite": variant.operation.partition("/")[0],
        "family": variant.family,
        "variant": variant.name,
        "severity": variant.severity,
        "label": shown.label,
        "choice": choice,
        "answer": shown.options[choice],
        "status": "ok",
        "score": float(choice == shown.label),
        "confidence": probs[choice],
        "logits": logits.tolist(),
        "probs": probs.tolist(),
        "order": list(variant.order),
        "target": variant.target,
    }
