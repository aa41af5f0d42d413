"""The page: every table and figure of a folder, what they come from, and single questions, in one file for a browser.

``index.html`` in the folder holds nothing that differs between two runs on one machine. How long a run took, and where,
is on the same page in the build folder.
"""

import base64
import hashlib
import json
import os
import platform
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from robustlib.files import write_atomically
from robustlib.report.page_text import PrintedTable, figure_caption, inline, read_cells, read_table
from robustlib.report.questions import CHANGES, QUESTIONS, WAYS, data_uri, most_flipped
from robustlib.report.records import Record, title_of
from robustlib.sweep.store import MANIFEST, file_hash, read_manifest

PAGE = "index.html"
DOCUMENTS = {
    "vqa_bench": "Visual Robustness Benchmark for VQA",
    "vlm_robustbench": "VLM-RobustBench",
    "laya": "Robustness under meaning-preserving perturbations",
    "models": "Models",
    "gallery": "Corruption gallery",
}
"""Titles of the folders right below the root, in the order of the page; others come last under their own names."""

_TEMPLATES = Path(__file__).parent / "templates"
_LONG = 20  # rows from which a table is closed at first and can be searched
_QUALITY = 60  # of photographs on the page; drawings are exact
_SHARPNESS = 1.6  # pixels of a drawing for each pixel of the page


def write_page(root: Path, records: list[Record], notebooks: Path, build: Path | None) -> list[Path]:
    """Write the page.

    Args:
        root: where it goes; the records' files are linked relative to it.
        records: what it shows.
        notebooks: folder of the notebooks, whose words before a figure are its caption.
        build: folder with the sweeps' predictions, for the single questions, and with the executed notebooks. The page
            goes there a second time, with the seconds of each notebook and the machine. None for none of that.

    Returns:
        The paths of the pages.

    Raises:
        RobustlibError: predictions that a record names are damaged, or the questions have changed since.
    """
    manifests = {} if build is None else {file_hash(path): path.parent for path in sorted(build.rglob(MANIFEST))}
    sweeps = _sweeps(records, manifests)
    content = {
        "documents": _documents(records, notebooks),
        "sweeps": sweeps,
        "versions": _versions(records, sweeps),
        "limits": {"questions": QUESTIONS, "changes": CHANGES, "ways": WAYS},
        "long": _LONG,
    }
    pages = {root / PAGE: _render(content | {"run": None, "base": ""})}
    if build is not None:
        base = quote(Path(os.path.relpath(root, build)).as_posix()) + "/"
        pages[build / PAGE] = _render(content | {"run": _run(build), "base": base})
    for path, page in pages.items():
        write_atomically(path, page.encode())
    return list(pages)


def _render(content: dict[str, Any]) -> str:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = ((_TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    inlined = {"style": Markup(style), "script": Markup(script), "hashes": [_csp_hash(style), _csp_hash(script)]}
    return environment.get_template("page.html").render(content | inlined)


def _csp_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _documents(records: list[Record], notebooks: Path) -> list[dict[str, Any]]:
    order = list(DOCUMENTS)
    names = [record.place.partition("/")[0] for record in records]
    pairs = sorted(
        zip(names, records, strict=True),
        key=lambda pair: (order.index(pair[0]) if pair[0] in order else len(order), pair[1].place),
    )
    return [
        {
            "name": name,
            "title": DOCUMENTS.get(name, title_of(name)),
            "sections": [_section(record, notebooks) for _, record in members],
        }
        for name, members in groupby(pairs, key=lambda pair: pair[0])
    ]


def _section(record: Record, notebooks: Path) -> dict[str, Any]:
    content = record.content
    _, _, within = record.place.partition("/")
    cells = read_cells(notebooks / content["notebook"]["file"])
    hidden = ("out_dir", "source")  # where the files are and came from, which is told otherwise
    return {
        "place": record.place,
        "id": record.place.replace("/", "-"),
        "title": within.replace("_", " ").replace("/", ", ").capitalize() or "Tables and figures",
        "notebook": content["notebook"],
        "source": _source_text(content["source"]),
        "parameters": {name: value for name, value in content["parameters"].items() if name not in hidden},
        "entries": [_entry(record, name, cells) for name in record.shown],
    }


def _source_text(source: dict[str, Any]) -> str:
    if "profile" in source:
        return f"the sweep {source['profile']['name']}, manifest {source['manifest_sha256'][:12]}"
    if "published" in source:
        return "the numbers that the authors published"
    return f"photographs of {source['photographs']}"


def _entry(record: Record, name: str, cells: list[nbformat.NotebookNode]) -> dict[str, Any]:
    entry = {"title": title_of(name), "links": record.links(name), "table": None, "figure": None}
    if name.endswith(".md"):
        table: PrintedTable = read_table(record.path(name).read_text(encoding="utf-8"))
        return entry | {"table": table, "caption": table.caption}
    caption = figure_caption(cells, Path(name).stem)
    return entry | {"figure": _picture(record.path(name)), "caption": inline(caption)}


def _picture(path: Path) -> dict[str, Any]:
    """Return a PNG as it is embedded: a drawing, which has a palette, without loss, a photograph with a little."""
    with Image.open(path) as image:
        is_drawing = image.mode == "P"
        width, height = (round(side / _SHARPNESS) if is_drawing else side for side in image.size)
        return {"uri": data_uri(image, _QUALITY, is_drawing), "width": width, "height": height}


def _sweeps(records: list[Record], manifests: dict[str, Path]) -> list[dict[str, Any]]:
    """Return each sweep that the records come from, with its manifest and its questions where they are at hand."""
    sources = [record.content["source"] for record in records if "profile" in record.content["source"]]
    sweeps = []
    for sha256, profile in {source["manifest_sha256"]: source["profile"] for source in sources}.items():
        folder = manifests.get(sha256)
        sweeps.append(
            {
                "sha256": sha256,
                "profile": profile,
                "manifest": None if folder is None else read_manifest(folder),
                "cases": {} if folder is None else most_flipped(folder),
            }
        )
    return sorted(sweeps, key=lambda sweep: str(sweep["profile"]["name"]))


def _versions(records: list[Record], sweeps: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the versions of each package; several where records differ."""
    found = [record.content["packages"] for record in records]
    found += [sweep["manifest"]["versions"] for sweep in sweeps if sweep["manifest"]]
    names = sorted({name for versions in found for name in versions})
    return {name: sorted({versions[name] for versions in found if name in versions}) for name in names}


def _run(build: Path) -> dict[str, Any]:
    """Return what differs between runs: the machine, and the seconds of each executed notebook."""
    seconds = {}
    for path in sorted(build.rglob("*.ipynb")):
        about = json.loads(path.read_bytes())["metadata"].get("papermill", {})
        if about.get("duration") and not about.get("exception"):
            seconds[path.relative_to(build).as_posix()] = (about["end_time"][:19], round(about["duration"], 1))
    return {"machine": f"{platform.platform()}, {os.cpu_count()} cores", "seconds": seconds}
