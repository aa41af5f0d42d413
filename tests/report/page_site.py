"""A small folder of results with everything that a page can show, made by a real sweep; its texts are hostile."""

import base64
import io
import json
from collections.abc import Sequence
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
from PIL import Image

from robustlib.data import load_dataset
from robustlib.models.base import Answer, Prompt
from robustlib.report.figures import new_figure, save_figure
from robustlib.report.index import write_index
from robustlib.report.provenance import write_provenance
from robustlib.report.tables import Column, Table, write_table
from robustlib.sweep import DatasetChoice, ModelChoice, Profile, plan_jobs, run_sweep
from robustlib.sweep.plan import profile_conditions

HOSTILE = "<script>alert(1)</script>\"'& </td></table>"
"""What a question, an option, an answer and a cell of a table contain."""

GREYS = (20, 100, 160, 240)
_SHADES = ("very", "rather", f"hardly {HOSTILE}", "not")


class Shade:
    """A model that reads the shade of an image, and answers to one darker than any with hostile text."""

    name = "toy/shade"

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        return [self._answer(prompt) for prompt in prompts]

    def _answer(self, prompt: Prompt) -> Answer:
        grey = 130 if prompt.image is None else prompt.image.mean()
        shade = _SHADES[int(np.abs(np.array(GREYS) - grey).argmin())]
        if grey < 18 or shade not in prompt.options:  # 240 inverted is 15
            return Answer(HOSTILE)
        return Answer("", choice=prompt.options.index(shade), confidence=0.875)

    def describe(self) -> dict[str, str | int | float]:
        return {"fingerprint": "toy", "parameters": 1_000_000}


def make_predictions(folder: Path) -> Path:
    """Ask the toy model eight questions on four images, two to each, and return the folder of the sweep."""
    folder.mkdir(parents=True)
    buffers = [io.BytesIO() for _ in GREYS]
    for grey, buffer in zip(GREYS, buffers, strict=True):
        Image.fromarray(np.full((12, 12, 3), grey, np.uint8)).save(buffer, "PNG")
    rows = [
        {"index": number, "question": f"How dark? {HOSTILE}", "answer": "ABCD"[number % 4], "category": "grey"}
        | dict(zip("ABCD", _SHADES, strict=True))
        | {"split": "dev", "image": base64.b64encode(buffers[number % 4].getvalue()).decode()}
        for number in range(8)
    ]
    data = folder / "mmbench.tsv"
    pd.DataFrame(rows).to_csv(data, sep="\t", index=False)
    choice = DatasetChoice(f"mmbench:{data}", "dev")
    profile = Profile(
        name="toy",
        datasets=(choice,),
        models=(ModelChoice(Shade.name),),
        corruptions=(
            *(f"vlm_robustbench/{name}" for name in ("invert", "solarize", "frost", "snow", "fog")),
            "vqa_bench_extra/grayscale_inverse",
        ),
        severities=(1, 5),
        families=("typos", "image_shuffle", "abstain"),
    )
    plan = plan_jobs(profile, [load_dataset(choice.name, "dev")], {Shade.name: Shade()}, profile_conditions(profile))
    run_sweep(plan, folder / "out")
    return folder / "out"


def make_site(folder: Path, predictions: Path) -> Path:
    """Write tables, figures and both pages below a folder; return that of the results, beside which is ``build``."""
    figures, notebooks = folder / "figures", folder / "notebooks"
    place = figures / "vqa_bench" / "toy"
    frame = pd.DataFrame(
        {"model": ["b", f"a {HOSTILE}", "c", "d"], "share": [10.0, float("nan"), -2.5, 9.25], "low": [1.0, 2, 3, 4]}
        | {"strength": ["0.15, 1", "0.08", "none", "0.7"]}
    )
    columns = (
        *(Column("model", "Model"), Column("share", "$A^{rel}_v$", "Group", 2), Column("low", "Low", "Group", 0)),
        Column("strength", "Strength"),
    )
    write_table(Table("table1", "Shares $> 0$ of **all**.", frame, columns, bold=frozenset({(0, "share")})), place)
    long = pd.DataFrame({"name": [f"row-{number}" for number in range(25)], "number": np.arange(25.0)})
    write_table(Table("long", "Many rows.", long, (Column("name", "Name"), Column("number", "Number", "", 1))), place)
    drawing, photograph = new_figure(2, 2, "n = 4"), new_figure(2, 2, "n = 1")
    drawing.add_subplot().plot([1, 2, 3])
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    photograph.add_subplot().imshow(noise)
    save_figure(drawing, frame, place, "figure2")
    save_figure(photograph, frame, place, "noise", dpi=96)
    notebooks.mkdir(parents=True)
    cells = [
        nbformat.v4.new_markdown_cell("## A figure\n\nA line that `rises`.", id="text"),
        nbformat.v4.new_code_cell('save_figure(drawing, frame, out_dir, "figure2")', id="code"),
        nbformat.v4.new_markdown_cell("The end.", id="end"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), notebooks / "toy.ipynb")
    write_provenance(str(place), str(notebooks / "toy.ipynb"), {"out_dir": str(place), "seed": 1}, str(predictions))
    about = {"papermill": {"duration": 12.34, "end_time": "2026-01-02T03:04:05.678", "exception": None}}
    executed = folder / "build" / "toy" / "a_notebook_with_a_name_so_long_that_no_phone_shows_it.ipynb"
    executed.parent.mkdir(exist_ok=True)
    executed.write_text(json.dumps({"metadata": about}))
    write_index(figures, notebooks, folder / "build")
    return figures
