"""A predictions table of 3 models x 12 questions x 135 conditions whose numbers can be worked out by hand.

Questions q00 to q11, two to an image; q00 to q05 are of the category "animals", q06 to q09 "colours", q10 and q11
"shapes". One question is 100/12 = 25/3 points. What each model has right:

* "sure": nine questions (q00 to q08) on clean images and under every configuration but these: fog low loses q00, fog
  high q00 to q02, upsample mid q00 to q05, upsample high all nine, upsample low gains q09, flip_v loses q00 and q01 and
  gains q09. Without the image it has q00 to q02.
* "shaky": six (q00 to q05); every mid loses q05, every high q04 and q05, every binary transform gains q06 and q07.
  Without the image it has q00 to q03.
* "blind": seven (q00 to q06), always: it ignores the image.
"""

from collections.abc import Iterable

import pandas as pd

from robustlib.metrics.configurations import Configuration, configurations

QUESTIONS = [f"q{number:02}" for number in range(12)]
CATEGORIES = ["animals"] * 6 + ["colours"] * 4 + ["shapes"] * 2
MODELS = ("blind", "shaky", "sure")

_SURE = {
    "fog:low": (range(1), ()),
    "fog:high": (range(3), ()),
    "upsample:low": ((), (9,)),
    "upsample:mid": (range(6), ()),
    "upsample:high": (range(9), ()),
    "flip_v": (range(2), (9,)),
}
_SHAKY = {"low": ((), ()), "mid": ((5,), ()), "high": ((4, 5), ()), "binary": ((), (6, 7))}


def hand_made_predictions() -> pd.DataFrame:
    """Return the table: 3 x 12 x 135 rows."""
    rows = []
    for model, known, known_blind in (("sure", 9, 3), ("shaky", 6, 4), ("blind", 7, 7)):
        rows += _rows(model, "clean", "clean", 0, range(known))
        rows += _rows(model, "no_image", "no_image", 0, range(known_blind))
        for found in configurations():
            lost, gained = _change(model, found)
            right = set(range(known)) - set(lost) | set(gained)
            rows += _rows(model, "corruption", found.corruption, found.severity, right)
    return pd.DataFrame(rows)


def _change(model: str, found: Configuration) -> tuple[Iterable[int], Iterable[int]]:
    if model == "sure":
        return _SURE.get(str(found), ((), ()))
    return _SHAKY[found.level] if model == "shaky" else ((), ())


def _rows(model: str, family: str, variant: str, severity: int, right: Iterable[int]) -> list[dict[str, object]]:
    known = set(right)
    return [
        {
            "model": model,
            "dataset": "hand_made",
            "split": "test",
            "question_id": question,
            "image_id": f"image-{number // 2}",
            "category": CATEGORIES[number],
            "suite": "vlm_robustbench" if family == "corruption" else "",
            "family": family,
            "variant": variant,
            "severity": severity,
            "status": "ok",
            "score": float(number in known),
        }
        for number, question in enumerate(QUESTIONS)
    ]
