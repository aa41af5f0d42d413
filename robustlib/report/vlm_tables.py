"""Tables of VLM-RobustBench from their specifications, and the one call with which a notebook writes and shows some."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from robustlib.errors import UnknownNameError
from robustlib.report.tables import Column, Table, markdown, write_table
from robustlib.report.vlm_evidence import BenchEvidence
from robustlib.report.vlm_spec import Spec
from robustlib.report.vlm_specs import SPECS


def render_tables(evidence: BenchEvidence, names: Iterable[str], folder: str | Path) -> str:
    """Write tables and return them as Markdown, with a sentence for each that this sweep cannot have.

    What an earlier sweep left of such a table is removed.

    Args:
        evidence: the numbers.
        names: names of `SPECS`.
        folder: where the files go.

    Raises:
        UnknownNameError: there is no such table.
    """
    known = {spec.name: spec for spec in SPECS}
    parts = []
    for name in names:
        if name not in known:
            raise UnknownNameError("table of VLM-RobustBench", name, known)
        table = make_table(known[name], evidence)
        if table is None:
            parts.append(f"{known[name].label.capitalize()}: none, as {known[name].absent}.\n")
            for stale in Path(folder).glob(f"{name}.*"):
                stale.unlink()
        else:
            write_table(table, folder)
            parts.append(markdown(table))
    return "\n".join(parts)


def make_table(spec: Spec, evidence: BenchEvidence) -> Table | None:
    """Return a table, or None where no row is left for it."""
    frame = evidence.frames[spec.frame]
    for pick in spec.picks:
        frame = pick(frame)
    if frame.empty:
        return None
    keys = [Column(name, heading) for name, heading in spec.keys.items()]
    frame, numbers = _spread(frame, spec) if spec.across else (frame, _number_columns(frame, spec))
    names = [name for column in (*keys, *numbers) for name in column.names]
    return Table(spec.name, _caption(spec, evidence), frame[names], (*keys, *numbers))


def _caption(spec: Spec, evidence: BenchEvidence) -> str:
    source = f"After {spec.label} of VLM-RobustBench." if spec.label.startswith("Table") else ""
    averaged = evidence.averaged if spec.of_several_models else ""
    brackets = f"In brackets: {evidence.interval}." if _has_intervals(spec, evidence) else ""
    return " ".join(filter(None, [source, spec.title, averaged, evidence.counts, brackets]))


def _has_intervals(spec: Spec, evidence: BenchEvidence) -> bool:
    return any(_ends(evidence.frames[spec.frame], name) for name in spec.numbers)


def _number_columns(frame: pd.DataFrame, spec: Spec, group: str = "") -> list[Column]:
    prefix = f"{group} " if group else ""
    return [
        Column(f"{prefix}{name}", heading, group, decimals, tuple(f"{prefix}{end}" for end in _ends(frame, name)))
        for name, (heading, decimals) in spec.numbers.items()
    ]


def _ends(frame: pd.DataFrame, name: str) -> list[str]:
    return [end for end in (f"{name}_low", f"{name}_high") if end in frame.columns]


def _spread(frame: pd.DataFrame, spec: Spec) -> tuple[pd.DataFrame, list[Column]]:
    """Lay the rows of each value of `spec.across` side by side."""
    groups = {str(value): rows.set_index(list(spec.keys)) for value, rows in frame.groupby(spec.across, sort=False)}
    columns = [column for group in groups for column in _number_columns(frame, spec, group)]
    wide = pd.concat([rows.add_prefix(f"{group} ") for group, rows in groups.items()], axis=1)
    return wide.reset_index(), columns
