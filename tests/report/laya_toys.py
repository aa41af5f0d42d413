"""Predictions of toy models on toy questions, with all that a sweep of the third document leaves."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from robustlib.data.images import LazyImage
from robustlib.data.question import Question
from robustlib.perturbations import Variant, list_families
from robustlib.report.laya_evidence import LayaEvidence, evidence_of
from robustlib.seeding import generator
from tests.metrics.answering import Scorer, predict

IMAGES = [LazyImage(np.full((2, 2, 3), shade, np.uint8)) for shade in range(60)]
OPTIONS = ("cab", "bus", "tram", "tank")
FAMILIES = [family.name for family in list_families()]


def ask(number: int, dataset: str = "toys") -> Question:
    """Two questions an image: a choice of four options, and a yes/no question."""
    image = number // 2
    return Question(
        id=f"q{number:03d}",
        image=IMAGES[image],
        image_id=f"image{image:02d}",
        text="is it a cab?" if number % 2 else "what stands in the street?",
        kind="yesno" if number % 2 else "choice",
        options=("no", "yes") if number % 2 else OPTIONS,
        label=image % (2 if number % 2 else 4),
        dataset=dataset,
    )


EVALUATED = [ask(number) for number in range(40)]
HELD_OUT = [ask(number) for number in range(40, 120)]


def skilled(strength: float) -> Scorer:
    """Favour the right option, as long as the image is the right one, the more the stronger."""

    def scorer(variant: Variant) -> Sequence[float]:
        shown = variant.question
        logits = generator("skilled", shown.id, str(strength)).normal(size=len(shown.options))
        if shown.image is not None and "donor_image_id" not in shown.meta and shown.label >= 0:
            logits[shown.label] += strength
        return list(3 * logits)

    return scorer


def predictions(models: int, questions: Sequence[Question], families: Sequence[str] = ()) -> pd.DataFrame:
    """Ask so many models the questions as they stand and in some families."""
    tables = [predict(questions, families, skilled(1 + 0.3 * place), f"toy/{place}") for place in range(models)]
    return pd.concat(tables, ignore_index=True)


@cache
def evidence(models: int) -> LayaEvidence:
    """Return the evidence of so many models, calibrated and checked for invariance."""
    held_out = predictions(models, HELD_OUT)
    asked = held_out.assign(condition="alone")
    moved = asked.assign(condition="bf16", logits=asked["logits"].map(_tilted))
    return evidence_of(
        "a sweep", predictions(models, EVALUATED, FAMILIES), held_out, pd.concat([asked, moved], ignore_index=True)
    )


def _tilted(logits: list[float]) -> list[float]:
    return [logit + 0.3 * place for place, logit in enumerate(logits)]
