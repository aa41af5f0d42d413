"""Tables 1 and 29 of VLM-RobustBench: its taxonomy and its parameters, as the suite has them."""

from collections.abc import Mapping

import pandas as pd

from robustlib.corruptions import list_corruptions
from robustlib.metrics.configurations import BINARY, LEVELS, SUITE, configurations
from robustlib.report.tables import Column, Table
from robustlib.report.vlm_spec import category_label


def taxonomy_table() -> Table:
    """Return Table 1: the categories with their types, and how many configurations they come to."""
    frame = (
        pd.DataFrame(configurations())
        .groupby("category", sort=False)["corruption"]
        .agg(corruptions=lambda names: ", ".join(names.unique()), types="nunique", configurations="size")
        .reset_index()
    )
    return Table(
        name="table1",
        caption=(
            "After Table 1 of VLM-RobustBench. Taxonomy. Types with levels count at low, mid and high, binary "
            "transforms once."
        ),
        frame=frame,
        columns=(
            Column("category", "Category"),
            Column("corruptions", "Corruptions"),
            Column("types", "Types", decimals=0),
            Column("configurations", "Configurations", decimals=0),
        ),
        labels={category: category_label(category) for category in frame["category"]},
    )


def parameter_table() -> Table:
    """Return Table 29: the parameters of every corruption that has levels."""
    leveled = [corruption for corruption in list_corruptions(SUITE) if corruption.category != BINARY]
    frame = pd.DataFrame(
        {
            "corruption": corruption.name,
            "parameters": ", ".join(corruption.parameters[0]),
            **{level: _values(corruption.parameters[severity - 1]) for level, severity in LEVELS.items()},
        }
        for corruption in leveled
    )
    groups = dict.fromkeys(LEVELS, "Level")
    return Table(
        name="table29",
        caption=(
            "After Table 29 of VLM-RobustBench. Parameters at low, mid and high, which are severities 1, 3 and 5 of "
            "the suite. Binary transforms have none."
        ),
        frame=frame,
        columns=tuple(Column(name, name.capitalize(), groups.get(name, "")) for name in map(str, frame)),
    )


def _values(parameters: Mapping[str, object]) -> str:
    return ", ".join(map(str, parameters.values()))
