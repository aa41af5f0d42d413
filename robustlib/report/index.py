"""One page that shows every table and figure under a folder, each beside the record of where it comes from."""

import json
import re
from pathlib import Path
from typing import Any

from robustlib.errors import InvalidValueError
from robustlib.files import write_atomically
from robustlib.report.provenance import RECORD

_LONGEST_SHOWN = 60
"""Lines of the longest table that the page shows; longer ones are linked."""

_HEAD = """# Tables and figures

Written by `make reproduce`; do not edit by hand. Every folder has a `provenance.json` that names the notebook, its
parameters, and the data that its files were made from.
"""


def write_index(folder: str | Path) -> Path:
    """Write ``README.md`` in a folder: one section per provenance record below it.

    Args:
        folder: the root of the figures, for example ``paper_figures``.

    Returns:
        The path of the page.

    Raises:
        InvalidValueError: there is no provenance record below the folder, or an output that one lists is missing.
    """
    root = Path(folder)
    records = sorted(root.rglob(RECORD))
    if not records:
        raise InvalidValueError(f"There is no {RECORD} below {root}; run the notebooks first.")
    page = "\n".join([_HEAD, *(_section(root, record) for record in records)])
    target = root / "README.md"
    write_atomically(target, page.encode())
    return target


def _section(root: Path, record: Path) -> str:
    content: dict[str, Any] = json.loads(record.read_bytes())
    place = record.parent.relative_to(root)
    for output in content["outputs"]:
        if not (record.parent / output).exists():
            raise InvalidValueError(f"{record} lists {output}, which is not there; run its notebook again.")
    shown = sorted((output for output in content["outputs"] if output.endswith((".md", ".png"))), key=_by_number)
    heading = f"## {place}\n\nNotebook `{content['notebook']['file']}`, [provenance]({place}/{RECORD}).\n"
    return "\n".join([heading, *(_entry(root, place, Path(output), content["outputs"]) for output in shown)])


def _entry(root: Path, place: Path, output: Path, outputs: dict[str, str]) -> str:
    siblings = [Path(name) for name in outputs if Path(name).with_suffix("") == output.with_suffix("")]
    links = " · ".join(f"[{path.suffix[1:].upper()}]({place / path})" for path in siblings)
    title = f"### {re.sub(r'_|(?<=[a-z])(?=[0-9])', ' ', output.stem).capitalize()}"
    if output.suffix == ".png":
        return f"{title}\n\n![{output.stem}]({place / output})\n\n{links}\n"
    table = (root / place / output).read_text(encoding="utf-8")
    shown = table if table.count("\n") <= _LONGEST_SHOWN else table.partition("\n")[0] + "\n"
    return f"{title}\n\n{shown}\n{links}\n"


def _by_number(name: str) -> list[str]:
    """Return a key by which table2 comes before table10."""
    return [part.zfill(9) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
