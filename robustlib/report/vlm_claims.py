"""Do the numbers that the text of VLM-RobustBench states agree with each other?

A stated number stands for all that round to it, so both sides of a claim are ranges; equal sides must overlap.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from robustlib.report.audit import last_digit
from robustlib.report.tables import Column, Table

Key = tuple[str, str, str, str]
"""Data set, scope, condition and metric of a statement."""

Statements = Mapping[Key, tuple[str, str]]
"""What is stated, and in which section."""

_COUNTS = {
    *("configurations", "severity_configurations", "types", "models", "verdicts", "sample", "questions"),
    *("severe_failures", "less_harmful_than_flip_v"),
}
_SIDES = ("left", "right")
_SAMPLED = 0.2  # share of a data set that is asked (Section 4.2)
_WORSE_THAN_FLIP_V = ("upsample", "elastic_transform", "zoom_blur")  # at high, and no others (Section 5.2)


class Value(NamedTuple):
    """A number, and the ends of what rounding allows it to be."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Side:
    """A number that follows from stated ones."""

    formula: Callable[..., float]
    """Monotone in each of its inputs."""
    inputs: tuple[Key, ...]

    def work_out(self, statements: Statements) -> Value:
        """Return its value: the formula of the stated numbers, and its extremes over all that round to them."""
        ends = [_ends(statements[key][0], key[-1] in _COUNTS) for key in self.inputs]
        corners = [self.formula(*corner) for corner in product(*(inputs[1:] for inputs in ends))]
        return Value(self.formula(*(inputs.value for inputs in ends)), min(corners), max(corners))


@dataclass(frozen=True)
class Claim:
    """Something that holds if the statements are right."""

    text: str
    left: Side
    relation: str
    """"=" or "≤"."""
    right: Side


def claims_table(statements: pd.DataFrame) -> Table:
    """Return every claim with both of its sides and whether they agree.

    Args:
        statements: the frame of `robustlib.data.published.vlm_robustbench_stated`.
    """
    known = {(*key,): (stated, section) for *key, stated, section in statements.itertuples(index=False)}
    texts = {name: Column(name, name.capitalize()) for name in ("claim", "relation", "sections", "verdict")}
    left, right = (
        Column(side, side.capitalize(), "", 2, (f"{side}_low", f"{side}_high")) for side in ("left", "right")
    )
    return Table(
        name="stated_claims",
        caption=(
            "Numbers in the text of VLM-RobustBench that follow from each other. Brackets: all values that the "
            "rounding of the stated numbers allows. Drops from a relative corruption error (RCE) take a mean of ratios "
            "for the ratio of the means."
        ),
        frame=pd.DataFrame([_check(claim, known) for claim in CLAIMS]),
        columns=(texts["claim"], left, texts["relation"], right, texts["sections"], texts["verdict"]),
        labels={"≤": r"$\leq$"},
    )


def _check(claim: Claim, statements: Statements) -> dict[str, object]:
    left, right = claim.left.work_out(statements), claim.right.work_out(statements)
    apart = left.low > right.high or (claim.relation == "=" and left.high < right.low)
    sections = [statements[key][1] for key in (*claim.left.inputs, *claim.right.inputs)]
    return {
        "claim": claim.text,
        **_named("left", left),
        "relation": claim.relation,
        **_named("right", right),
        "sections": ", ".join(dict.fromkeys(sections)),
        "verdict": "disagree" if apart else "agree",
    }


def _named(side: str, number: Value) -> dict[str, float]:
    ends = (np.nan, np.nan) if number.low == number.high else (number.low, number.high)
    return dict(zip((side, f"{side}_low", f"{side}_high"), (number.value, *ends), strict=True))


def _ends(stated: str, is_count: bool) -> Value:
    number, half = float(stated), 0.0 if is_count else float(last_digit(stated)) / 2
    return Value(number, number - half, number + half)


def _total(metric: str) -> Key:
    return "", "", "", metric


def _mmbench(metric: str, condition: str = "", scope: str = "mean") -> Key:
    return "MMBench", scope, condition, metric


def _stated(*key: Key) -> Side:
    return Side(lambda value: value, key)


def _flip_difference(level: str) -> Side:
    return Side(lambda plus, minus: plus - minus, (_mmbench("flip_plus", level), _mmbench("flip_minus", level)))


def _drop_from_rce(condition: str) -> Side:
    inputs = (_mmbench("rce", condition), _mmbench("visual_gain"))
    return Side(lambda error, gain: error * gain / 100, inputs)


_ALL, _LEVELED, _TYPES, _MODELS = map(_total, ("configurations", "severity_configurations", "types", "models"))
_INTERN = "InternVL3.5-4B"

CLAIMS = (
    Claim(
        "Configurations: three for each type with levels, one for each other",
        Side(lambda leveled, types: leveled + types - leveled / 3, (_LEVELED, _TYPES)),
        "=",
        _stated(_ALL),
    ),
    *(
        Claim(
            f"Questions asked of {dataset}: 20 %",
            Side(lambda count: round(_SAMPLED * count), ((dataset, "", "", "questions"),)),
            "=",
            _stated((dataset, "", "", "sample")),
        )
        for dataset in ("MMBench", "MMMU-Pro")
    ),
    Claim(
        f"{_INTERN}: severe failures in percent of the configurations",
        Side(lambda count, total: 100 * count / total, (_mmbench("severe_failures", scope=_INTERN), _ALL)),
        "=",
        _stated(_mmbench("severe_failure_rate", scope=_INTERN)),
    ),
    Claim(
        "Qwen3-VL-4B: severe failures in percent, as a whole number of configurations",
        Side(
            lambda rate, total: 100 * round(rate * total / 100) / total,
            (_mmbench("severe_failure_rate", scope="Qwen3-VL-4B"), _ALL),
        ),
        "=",
        _stated(_mmbench("severe_failure_rate", scope="Qwen3-VL-4B")),
    ),
    Claim(
        "Tier verdicts at mid: one for each model and type with levels",
        Side(lambda models, leveled: models * leveled / 3, (_MODELS, _LEVELED)),
        "=",
        _stated(_mmbench("verdicts", "mid", "")),
    ),
    Claim(
        "Tier verdicts on binary transforms: one for each model and transform",
        Side(lambda models, leveled, types: models * (types - leveled / 3), (_MODELS, _LEVELED, _TYPES)),
        "=",
        _stated(_mmbench("verdicts", "binary", "")),
    ),
    Claim(
        f"Corruptions less harmful at high than flip_v: all but {', '.join(_WORSE_THAN_FLIP_V)}",
        Side(lambda leveled: leveled / 3 - len(_WORSE_THAN_FLIP_V), (_LEVELED,)),
        "=",
        _stated(_mmbench("less_harmful_than_flip_v", "high", "")),
    ),
    Claim(
        "RCE of flip_v: its drop in percent of the visual gain",
        Side(lambda drop, gain: 100 * drop / gain, (_mmbench("drop", "flip_v"), _mmbench("visual_gain"))),
        "=",
        _stated(_mmbench("rce", "flip_v")),
    ),
    Claim(
        "Mean drop under upsample:high, from its RCE: at most the largest drop of any model",
        _drop_from_rce("upsample:high"),
        "≤",
        _stated(_mmbench("worst_case_drop", scope="highest")),
    ),
    Claim(
        "Mean drop under glass_blur:low: at most the largest Worst@Low",
        _stated(_mmbench("drop", "glass_blur:low")),
        "≤",
        _stated(_mmbench("worst_at_low", scope="highest")),
    ),
    *(
        Claim(
            f"Mean drop at {level}: Flip+ less Flip-, and from the RCE",
            _flip_difference(level),
            "=",
            _drop_from_rce(level),
        )
        for level in ("low", "high", "binary")
    ),
    Claim(
        "Mean drop of the binary transforms, Flip+ less Flip-: at most that of the worst, flip_v",
        _flip_difference("binary"),
        "≤",
        _stated(_mmbench("drop", "flip_v")),
    ),
)
