"""What shows every table and figure under a folder: ``README.md`` on a code host, ``index.html`` in a browser."""

from pathlib import Path
from urllib.parse import quote

from robustlib.errors import InvalidValueError
from robustlib.files import write_atomically
from robustlib.report.page import write_page
from robustlib.report.provenance import RECORD
from robustlib.report.records import Record, read_records, title_of

_LONGEST_SHOWN = 60
"""Lines of the longest table that README.md shows; longer ones are linked."""

_HEAD = """# Tables and figures

Written by `make reproduce`; do not edit by hand. Every folder has a `provenance.json` that names the notebook, its
parameters, and the data that its files were made from. [index.html](index.html) shows the same in a browser, with
tables to sort and single questions to look at.
"""


def write_index(folder: str | Path, notebooks: str | Path = "notebooks", build: str | Path | None = None) -> list[Path]:
    """Write ``README.md`` and ``index.html`` in a folder: one section per provenance record below it.

    Args:
        folder: the root of the figures, for example ``paper_figures``.
        notebooks: folder of the notebooks, whose words before a figure are its caption.
        build: folder with the executed notebooks and the predictions; None for none. See `write_page`.

    Returns:
        The paths of the pages.

    Raises:
        InvalidValueError: there is no provenance record below the folder, an output that one lists is missing, or there
            is no folder of notebooks.
        RobustlibError: the predictions that a record names are damaged; see `write_page`.
    """
    root = Path(folder)
    records = read_records(root)
    if not Path(notebooks).is_dir():
        raise InvalidValueError(f"Captions are read from the folder of the notebooks, but there is no {notebooks}.")
    page = "\n".join([_HEAD, *map(_section, records)])
    target = root / "README.md"
    write_atomically(target, page.encode())
    return [target, *write_page(root, records, Path(notebooks), None if build is None else Path(build))]


def _section(record: Record) -> str:
    notebook = record.content["notebook"]["file"]
    heading = f"## {record.place}\n\nNotebook `{notebook}`, [provenance]({quote(record.place)}/{RECORD}).\n"
    return "\n".join([heading, *(_entry(record, name) for name in record.shown)])


def _entry(record: Record, name: str) -> str:
    links = " · ".join(f"[{kind}]({path})" for kind, path in record.links(name))
    title = f"### {title_of(name)}"
    if name.endswith(".png"):
        return f"{title}\n\n![{Path(name).stem}]({quote(f'{record.place}/{name}')})\n\n{links}\n"
    table = record.path(name).read_text(encoding="utf-8")
    shown = table if table.count("\n") <= _LONGEST_SHOWN else table.partition("\n")[0] + "\n"
    return f"{title}\n\n{shown}\n{links}\n"
