"""What the text of VLM-RobustBench states, beside the same numbers of a run.

The stated numbers are of other models and other questions: they give orientation, and have no part in a run's numbers.
"""

from collections.abc import Iterator

import pandas as pd

from robustlib.report.tables import Column, Table
from robustlib.report.vlm_evidence import BenchEvidence


def context_table(statements: pd.DataFrame, evidence: BenchEvidence) -> Table:
    """Return the stated numbers that a run has as well, with the mean, lowest and highest of its models.

    Stated counts are left out: of configurations, types, models, verdicts and questions, of catastrophic cases, severe
    failures and corruptions less harmful than flip_v. Most grow with how many models or questions they are over, and a
    run has others; Table 18 counts its own catastrophic cases.

    Args:
        statements: the frame of `robustlib.data.published.vlm_robustbench_stated`.
        evidence: the run; a data set of it is laid beside all that the document states.
    """
    rows = [
        {**statement, "our_data": dataset, "mean": ours.mean(), "lowest": ours.min(), "highest": ours.max()}
        for statement in statements.to_dict("records")
        for dataset in evidence.frames["models"]["dataset"].unique()
        for ours in _ours(evidence, dataset, statement["metric"], statement["condition"])
    ]
    theirs = {"dataset": "Data", "scope": "Models", "condition": "Condition", "metric": "Metric", "stated": "Stated"}
    return Table(
        name="stated_context",
        caption=(
            "Numbers that the text of VLM-RobustBench states, beside the same of this run's models. The models and the "
            f"questions are others, so neither confirms the other; counts, which grow with them, are left out. "
            f"{evidence.averaged} {evidence.counts}"
        ),
        frame=pd.DataFrame(rows),
        columns=(
            *(Column(name, heading, "The document") for name, heading in theirs.items()),
            Column("section", "Section", "The document"),
            Column("our_data", "Data", "This run"),
            *(Column(name, name.capitalize(), "This run", 1) for name in ("mean", "lowest", "highest")),
        ),
    )


def _ours(evidence: BenchEvidence, dataset: str, metric: str, condition: str) -> Iterator[pd.Series]:
    """Yield the number of each model that means go over, once where the run has it."""
    models, configurations = (
        frame[(frame["dataset"] == dataset) & frame["averaged"]]
        for frame in (evidence.frames["models"], evidence.frames["configurations"])
    )
    chosen = configurations[(configurations["configuration"] == condition) | (configurations["level"] == condition)]
    category = f"{metric}_{condition}" if condition else metric
    if metric in configurations and len(chosen):
        yield chosen.groupby("model")[metric].mean()
    elif category in models:
        yield models[category]
