"""Maps laid over the images that they explain, clean beside corrupted, as in Figure 6 of the benchmark for VQA.

A rule decides which questions are shown: of each model, among the answers that the strongest severity of a corruption
changed, the one whose map moved most and the one in the middle, by the correlation with the clean map.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten, wrap
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from robustlib.corruptions import corrupt
from robustlib.data import Question
from robustlib.data.images import Pixels
from robustlib.report.explanations import DriftEvidence
from robustlib.report.figures import NOTE_SIZE, PAGE_WIDTH, new_figure, paper_style, save_figure
from robustlib.report.tables import round_text
from robustlib.report.vqa_layout import label_of
from robustlib.sweep.questions import load_asked

DPI = 100
_SIDE = 64  # pixels of the longer side of a picture
_LEVELS = 4  # pictures in a row: the clean one, and the weakest, a middle and the strongest severity
_ROW, _LETTERS = 1.5, 17  # inches of a row, letters in a line under a picture
_OPAQUE = 0.7
_NOTE = "Violet to yellow: more and more evidence. r: correlation of first and last map. Below: answer and probability"
_QUESTION = ["dataset", "split", "question_id"]


@dataclass(frozen=True)
class Tile:
    """One picture with its map, and what the model said."""

    pixels: Pixels
    severity: int
    answer: str
    """With its confidence."""
    captions: str


@dataclass(frozen=True)
class Strip:
    """One question to one model, clean and under the rising severities of a corruption."""

    model: str
    rule: str
    """Why it is shown."""
    question: str
    corruption: str
    correlation: float
    """Of the maps of the first and the last picture."""
    tiles: tuple[Tile, ...]


def choose(evidence: DriftEvidence) -> pd.DataFrame:
    """Return the pairs that are shown: rows of `DriftEvidence.pairs`, with the column ``rule``."""
    pairs = evidence.graded
    strongest = pairs.groupby(["suite", "variant"])["severity"].transform("max")
    changed = pairs[(pairs["severity"] == strongest) & pairs["changed"]]
    chosen = []
    for _, own in changed.groupby("model", sort=False):
        ranked = own.sort_values("correlation", kind="stable")
        places = {0: "largest drift", len(ranked) // 2: "median drift"}
        chosen.append(ranked.iloc[list(places)].assign(rule=list(places.values())))
    return pd.concat(chosen) if chosen else changed.assign(rule="")


def prepare_strips(evidence: DriftEvidence, source: str) -> list[Strip]:
    """Return what the figure of overlays shows; nothing where no answer changed.

    Args:
        evidence: from the folder of the sweep.
        source: the folder, whose questions are loaded again; see `robustlib.sweep.questions.load_asked`.

    Raises:
        StoreError, RobustlibError: the questions have changed since, or cannot be read.
    """
    if evidence.pairs.empty:
        return []
    asked: dict[tuple[str, ...], Question] = {
        (dataset.name, dataset.split, question.id): question for dataset in load_asked(source) for question in dataset
    }
    return [_strip(row, evidence.explanations, asked) for row in choose(evidence).itertuples(index=False)]


def plot_overlays(strips: list[Strip]) -> Figure:
    """Draw two strips in a row; under each picture stands the answer, and a caption where the model writes any."""
    rows = -(-len(strips) // 2)
    with paper_style():
        captions = any(tile.captions for strip in strips for tile in strip.tiles)
        figure = new_figure(PAGE_WIDTH, 0.3 + _ROW * rows, _NOTE + ("; captions." if captions else "."))
        for part, strip in zip(figure.subfigures(rows, 2, squeeze=False).ravel(), strips, strict=False):
            heading = (
                f"{strip.model}, {strip.rule}: {label_of(strip.corruption)}, r = {round_text(strip.correlation, 2)}"
            )
            part.suptitle(f"{heading}\n{shorten(strip.question, 60)}", fontsize=NOTE_SIZE)
            for axes, tile in zip(part.subplots(1, _LEVELS).ravel(), strip.tiles, strict=False):
                axes.imshow(tile.pixels, interpolation="none")
                axes.set_title(f"severity {tile.severity}" if tile.severity else "clean", fontsize=NOTE_SIZE, pad=2)
                axes.set_xlabel(
                    "\n".join([tile.answer, *wrap(tile.captions, _LETTERS)][:3]), fontsize=NOTE_SIZE, labelpad=2
                )
            for axes in part.axes:
                axes.set(xticks=[], yticks=[], frame_on=False)
    return figure


def save_overlays(evidence: DriftEvidence, source: str, folder: str, name: str) -> list[Path]:
    """Write the figure of overlays, if any answer changed, and return the path of the PNG."""
    strips = prepare_strips(evidence, source)
    if not strips:
        return []
    of_strip = ["model", "rule", "question", "corruption", "correlation"]
    numbers = pd.DataFrame(
        [
            {field: getattr(strip, field) for field in of_strip}
            | {"severity": tile.severity, "answer": tile.answer, "captions": tile.captions}
            for strip in strips
            for tile in strip.tiles
        ]
    )
    return [path for path in save_figure(plot_overlays(strips), numbers, folder, name, DPI) if path.suffix == ".png"]


def overlay(pixels: Pixels, shares: NDArray[np.floating]) -> Pixels:
    """Lay a map over the image that it is of.

    Args:
        pixels: the image.
        shares: rows x columns; the largest is opaque up to `_OPAQUE`, 0 is not seen.

    Returns:
        uint8, `_SIDE` pixels along the longer side.
    """
    scale = _SIDE / max(pixels.shape[:2])
    size = (max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale)))
    picture = np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BICUBIC), np.float64)
    grid = Image.fromarray((shares / (shares.max() or 1)).astype(np.float32))
    heat = np.asarray(grid.resize(size, Image.Resampling.BILINEAR), np.float64)[..., None]
    colour = 255 * mpl.colormaps["plasma"](heat[..., 0])[..., :3]
    blended: Pixels = np.rint(picture + _OPAQUE * heat * (colour - picture)).astype(np.uint8)
    return blended


def _strip(row: Any, explanations: pd.DataFrame, asked: Mapping[tuple[str, ...], Question]) -> Strip:
    question = asked[row.dataset, row.split, row.question_id]
    own = explanations[explanations["model"] == row.model]
    for name in _QUESTION:
        own = own[own[name] == getattr(row, name)]
    corrupted = (own["suite"] == row.suite) & (own["variant"] == row.variant)
    own = own[corrupted | (own["variant"] == "clean")].sort_values("severity")
    places = sorted({0, 1, len(own) // 2, len(own) - 1})
    tiles = tuple(_tile(one, question) for one in own.iloc[places].itertuples(index=False))
    return Strip(row.model, row.rule, question.text, row.variant, row.correlation, tiles)


def _tile(one: Any, question: Question) -> Tile:
    pixels = question.images[0].pixels()
    if one.suite:
        pixels = corrupt(pixels, f"{one.suite}/{one.variant}", one.severity or 1, int(one.seed))
    shares = np.reshape(one.map, (one.rows, one.columns))
    said = f"{one.answer or one.status} {round_text(one.confidence, 2)}"
    return Tile(overlay(pixels, shares), one.severity, said, "; ".join(one.captions))
