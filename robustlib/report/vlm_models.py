"""The models of a sweep over VLM-RobustBench: what they are, and which of them means over models are of."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from robustlib.errors import UnknownNameError
from robustlib.metrics.rates import BenchScores
from robustlib.metrics.vlm_robustbench import models_with_gain
from robustlib.report.vlm_spec import listed

_REASONING = ("cot", "thinking")  # modes that the document reports apart (Section 4.3)


def describe_models(records: Mapping[str, Mapping[str, Any]], families: Mapping[str, str]) -> pd.DataFrame:
    """Return what a manifest says of its models: ``model``, ``family``, ``checkpoint``, ``mode``, ``parameters``.

    The family is the name of the network up to "For", as in Qwen3VLForConditionalGeneration. A model of several
    networks is its own family, as is one of which no such name is known.

    Args:
        records: what the manifest holds of each model.
        families: the family of a model; one that is not there has its network's.

    Raises:
        UnknownNameError: a family is given to a model that has no record.
    """
    for name in families:
        if name not in records:
            raise UnknownNameError("model", name, records)
    rows = [
        {
            "model": name,
            "family": families.get(name, _family(record) or name),
            "checkpoint": record.get("checkpoint", name),
            "mode": record.get("mode", ""),
            "parameters": record.get("parameters"),
        }
        for name, record in records.items()
    ]
    about = pd.DataFrame(rows)
    return about.assign(parameters=pd.to_numeric(about["parameters"], errors="coerce"))


def main_models(scores: BenchScores, about: pd.DataFrame) -> BenchScores:
    """Return the scores of the models that means are of; where no model is left, the rule is dropped."""
    modes = _modes(about)
    direct = scores.of_models([model for model in scores.models if modes[model] not in _REASONING] or scores.models)
    return direct.of_models(models_with_gain(direct))


def name_models(name: str, scores: BenchScores, main: BenchScores, about: pd.DataFrame) -> str:
    """Return which models means on a data set are of, and why others are not, as a sentence."""
    modes = _modes(about)
    left_out = [
        f"{model} ({modes[model] if modes[model] in _REASONING else 'no visual gain'})"
        for model in scores.models
        if model not in main.models
    ]
    rest = f"; left out: {listed(left_out)}" if left_out else ""
    return f"Means over models on {name} are of {listed(main.models)}{rest}."


def _family(record: Mapping[str, Any]) -> str:
    network = str(record.get("network"))
    family, found, _ = network.partition("For")
    return family if found and " + " not in network else ""


def _modes(about: pd.DataFrame) -> dict[str, str]:
    return dict(zip(about["model"], about["mode"], strict=True))
