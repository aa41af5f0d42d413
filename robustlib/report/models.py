"""The models of a sweep: what they are, how large, and how often they are right about clean images."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from robustlib.report.tables import Column, Place, Table
from robustlib.sweep.store import read_manifest, read_predictions

_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "int64": 8}
_OF = ["dataset", "split", "category"]
ALL = "all"
"""What the table calls all categories together."""


def size_table(source: str) -> Table:
    """Return the table of models: class, number type, parameters and weights.

    Parameters and weights of a model behind an endpoint are not known, and NaN.

    Args:
        source: the folder of a finished sweep.

    Raises:
        StoreError: the sweep is not whole, or damaged.
    """
    manifest = read_manifest(source)
    models = dict.fromkeys(shard["model"] for shard in manifest["shards"])  # in the order of the profile
    frame = pd.DataFrame([_size(name, manifest["models"][name]) for name in models])
    return Table(
        name="models",
        caption=(
            "The models: class of the network, type of its numbers, parameters (millions), and weights (megabytes of "
            "1,000,000 bytes) in that type."
        ),
        frame=frame,
        columns=(
            Column("model", "Model"),
            Column("network", "Class"),
            Column("dtype", "Numbers"),
            Column("parameters_millions", "Parameters (M)", decimals=2),
            Column("weights_megabytes", "Weights (MB)", decimals=2),
        ),
    )


def accuracy_table(source: str) -> Table:
    """Return the accuracy on clean images by category, with one column per model and the number of questions.

    Args:
        source: the folder of a finished sweep.

    Raises:
        StoreError: the sweep is not whole, or damaged.
    """
    clean = read_predictions(source, [*_OF, "model", "question_id", "family", "score"]).query("family == 'clean'")
    models = list(clean["model"].unique())
    asked = pd.concat([clean, clean.assign(category=ALL)])
    questions = asked.groupby(_OF, sort=False)["question_id"].nunique().rename("questions")
    scores = asked.pivot_table("score", _OF, "model", sort=False)[models]
    frame = pd.concat([questions, scores], axis=1).reset_index()
    frame = frame.sort_values(["dataset", "split"], kind="stable", ignore_index=True)
    return Table(
        name="clean_accuracy",
        caption=(
            "Accuracy on clean images by category, with the number of questions. Answers that could not be had or read "
            "score 0 and count. Bold: the most accurate model."
        ),
        frame=frame,
        columns=(
            Column("dataset", "Data set"),
            Column("split", "Split"),
            Column("category", "Category"),
            Column("questions", "n", decimals=0),
            *(Column(model, model, "Accuracy", 3) for model in models),
        ),
        bold=frozenset(_most_accurate(frame[models])),
    )


def _size(name: str, about: Mapping[str, Any]) -> dict[str, str | float]:
    parameters = pd.to_numeric(about["parameters"], errors="coerce")
    return {
        "model": name,
        "network": about["network"],
        "dtype": about["dtype"],
        "parameters_millions": parameters / 1e6,
        "weights_megabytes": parameters * _BYTES.get(about["dtype"], float("nan")) / 1e6,
    }


def _most_accurate(scores: pd.DataFrame) -> list[Place]:
    best = scores.eq(scores.max(axis=1), axis=0).to_numpy()
    return [(int(row), scores.columns[column]) for row, column in zip(*best.nonzero(), strict=True)]
