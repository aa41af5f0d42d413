"""From the texts that tables and notebooks hold to HTML: everything is escaped first, then the known marks are set."""

import re
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import nbformat
from markupsafe import Markup, escape

from robustlib.errors import InvalidValueError

_SYMBOLS = {
    r"\\Delta": "&Delta;",
    r"\\downarrow": "&darr;",
    r"\\uparrow": "&uarr;",
    r"\\leq": "&le;",
    r"\\pm": "&plusmn;",
    r"\\mu": "&mu;",
    r"\\rho": "&rho;",
    r"\\mathcal\{(\w)\}": r"<i>\1</i>",
    r"\\sqrt\{([^{}]*)\}": r"&radic;(\1)",
    r"\^\{([^{}]*)\}|\^(\w)": r"<sup>\1\2</sup>",
    r"_\{([^{}]*)\}|_(\w)": r"<sub>\1\2</sub>",
}
_MARKS = {
    r"\*\*(.+?)\*\*": r"<strong>\1</strong>",
    r"&lt;u&gt;(.*?)&lt;/u&gt;": r"<u>\1</u>",
    r"`(.+?)`": r"<code>\1</code>",
}


@dataclass(frozen=True)
class PrintedTable:
    """A table as `robustlib.report.tables` prints it in Markdown."""

    caption: Markup
    groups: list[tuple[Markup, int]]
    """Headings above the headings with the number of columns below each; empty where there are none."""
    headings: list[tuple[Markup, bool]]
    """What each column is called, and whether it holds numbers."""
    rows: list[list[Markup]]


def inline(text: str) -> Markup:
    """Return text as HTML; only bold, underline, code and the mathematics of our tables are marked up."""
    html = re.sub(r"(?<!\\)\$([^$]+)(?<!\\)\$", _mathematics, str(escape(text))).replace(r"\$", "$")
    for mark, element in _MARKS.items():
        html = re.sub(mark, element, html)
    return Markup(html)


def read_table(text: str) -> PrintedTable:
    """Read back what `robustlib.report.tables.markdown` wrote; a text without a table is a caption alone."""
    caption, _, body = text.partition("\n\n")
    lines = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in body.splitlines()]
    cells = [[cell.replace("\\|", "|") for cell in line] for line in lines]
    if len(cells) < 2:
        return PrintedTable(inline(text), [], [], [])
    names = [cell.rpartition("<br>") for cell in cells[0]]
    spans = [(inline(group), len(list(members))) for group, members in groupby(group for group, _, _ in names)]
    return PrintedTable(
        caption=inline(caption),
        groups=spans if any(group for group, _ in spans) else [],
        headings=[(inline(name), mark.endswith(":")) for (*_, name), mark in zip(names, cells[1], strict=True)],
        rows=[[inline(cell) for cell in row] for row in cells[2:]],
    )


def read_cells(notebook: Path) -> list[nbformat.NotebookNode]:
    """Return the cells of a notebook; none if it is not there.

    Raises:
        InvalidValueError: the file is no notebook.
    """
    if not notebook.exists():
        return []
    try:
        return list(nbformat.read(notebook, as_version=4).cells)
    except Exception as error:
        raise InvalidValueError(f"{notebook} cannot be read as a notebook: {error}") from error


def figure_caption(cells: list[nbformat.NotebookNode], name: str) -> str:
    """Return what a notebook says right before it makes a figure, without the heading; "" if it says nothing.

    The figure is made by the first cell that names it, else, where a loop makes it, by the first that saves any.
    """
    for sign in (re.escape(f'"{name}"'), r"save_(\w+_)?figures?\("):
        for place, cell in enumerate(cells):
            if cell.cell_type == "code" and re.search(sign, cell.source):
                return _last_text(cells[:place])
    return ""


def _last_text(cells: list[nbformat.NotebookNode]) -> str:
    text = next((cell.source for cell in reversed(cells) if cell.cell_type == "markdown"), "")
    return " ".join(line for line in text.splitlines() if not line.startswith("#")).strip()


def _mathematics(match: re.Match[str]) -> str:
    text = match[1]
    for sign, symbol in _SYMBOLS.items():
        text = re.sub(sign, symbol, text)
    return text
