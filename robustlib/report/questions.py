"""Single questions to look at: those whose answers turned wrong most often, with what the models saw and said."""

import base64
import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from robustlib.data import Question
from robustlib.data.images import Pixels
from robustlib.metrics import colour_bias
from robustlib.perturbations import list_families
from robustlib.sweep.conditions import CLEAN, Condition, Item, items_of
from robustlib.sweep.questions import load_asked
from robustlib.sweep.showing import prompts_by_picture
from robustlib.sweep.store import read_coded_predictions, read_manifest

QUESTIONS = 10
"""Shown of each data set; at most one of each image."""
CHANGES = 3
"""Shown of each question: the corruptions or families of perturbations that turned most answers wrong."""
WAYS = 5
"""Shown of each change: its severities or variants; of more, those that turned most answers wrong."""
RIGHT = 0.5
"""Score from which an answer counts as right."""

_LONGEST_SIDE = 160  # pixels of a picture on the page
_PLACE = ["suite", "family", "variant", "severity", "question_id"]
_NOT_KEPT = [
    *("clean", "no_image", "text_only", "image_shuffle"),  # without its image, a question has no answer to keep
    *(family.name for family in list_families() if family.role == "extension"),
]
_TEXTS = [
    *("dataset", "split", "model", "question_id", "group_id", "image_id", "category"),
    *("suite", "family", "variant", "answer", "response", "status"),
]
_COLUMNS = [*_TEXTS, "severity", "score", "confidence"]

Place = tuple[str, str, str, int, str]
"""A cell of a data set's predictions: suite, family, variant, severity and question."""


@dataclass(frozen=True)
class Reply:
    """What a model said."""

    text: str
    right: bool
    confidence: str
    """Probability of the answer with two decimals, "" if unknown."""


@dataclass(frozen=True)
class Way:
    """One way in which a question was asked."""

    name: str
    picture: str
    """Data URI of the first image as the models saw it, made smaller than 160 pixels; "" if there is none."""
    text: str
    options: tuple[str, ...]
    replies: dict[str, Reply]
    """By model."""


@dataclass(frozen=True)
class Change:
    """A corruption with its severities, or a family of perturbations with its variants."""

    name: str
    flips: int
    asked: int
    ways: list[Way]


@dataclass(frozen=True)
class Case:
    """A question whose answers turned wrong."""

    clean: Way
    """The question as it stands."""
    right: str
    """The right option, or the reference answer that most people gave, of equals the first."""
    category: str
    flips: int
    """Answers that turned wrong, over all models and changes."""
    asked: int
    changes: list[Change]

    @property
    def models(self) -> list[str]:
        """The models, in the order of the sweep."""
        return list(self.clean.replies)


def most_flipped(source: str | Path) -> dict[str, list[Case]]:
    """Return the most-flipped questions of a finished sweep.

    An answer flips where it is right on the clean question and wrong under a change that keeps the question's meaning:
    a corruption of its image, but for those that take the colour away to show a bias (`colour_bias.SUITE`), or a family
    of perturbations that is no control and no extension. The questions with the largest share of flips among all models
    and conditions come first, one of each image.

    Args:
        source: the sweep's folder.

    Returns:
        For each data set, as ``name/split``, up to `QUESTIONS` cases; none where no answer flips.

    Raises:
        RobustlibError: see `robustlib.read_predictions` and `load_asked`.
    """
    answers = _with_flips(read_coded_predictions(source, _COLUMNS))
    manifest = read_manifest(source)
    profile = manifest["profile"]
    conditions = dict.fromkeys(Condition(**shard["condition"]) for shard in manifest["shards"])
    cases = {}
    for dataset in load_asked(source) if answers["flip"].any() else []:
        own = answers[(answers["dataset"] == dataset.name) & (answers["split"] == dataset.split)]
        groups = {group: _answers_to(group, own) for group in _rank(own)}
        chosen = {group: _choose(rows) for group, rows in groups.items()}
        wanted = {place for choice in chosen.values() for places in choice.values() for place in places}
        asked = (
            (_place(item), item)
            for condition in conditions
            if not condition.treatment
            for item in items_of(dataset.questions, condition, profile["base_seed"], profile["seeding"])
        )
        shown = _show({place: item for place, item in asked if place in wanted})
        cases[f"{dataset.name}/{dataset.split}"] = [
            _case(groups[group], choice, shown) for group, choice in chosen.items()
        ]
    return cases


def data_uri(image: Image.Image, quality: int, lossless: bool = False) -> str:
    """Return an image as WebP within a URI, for a page that needs no other file."""
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, "WEBP", quality=quality, lossless=lossless)
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _with_flips(answers: pd.DataFrame) -> pd.DataFrame:
    """Add whether an answer was given under a change that keeps the meaning, and whether that turned it wrong."""
    of_question = ["dataset", "split", "model", "group_id"]
    clean = answers.loc[answers["family"] == CLEAN.family, [*of_question, "score"]]
    before = answers[of_question].merge(clean, on=of_question, how="left", validate="many_to_one")["score"]
    changed = ~answers["family"].isin(_NOT_KEPT) & (answers["suite"] != colour_bias.SUITE)
    flip = changed & (before.to_numpy() >= RIGHT) & (answers["score"] < RIGHT)
    return answers.assign(changed=changed, flip=flip)


def _rank(answers: pd.DataFrame) -> list[str]:
    asked = answers[answers["changed"]]
    shares = asked.groupby(["group_id", "image_id"], observed=True)["flip"].mean()
    ranked = shares[shares > 0].sort_values(ascending=False, kind="stable").reset_index()
    return list(ranked.drop_duplicates("image_id")["group_id"].head(QUESTIONS))


def _answers_to(group: str, answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers about one question, with the corruption or family of each in the column ``change``."""
    rows = answers[answers["group_id"] == group].astype(dict.fromkeys(_TEXTS, object))
    corruption = rows["suite"] + "/" + rows["variant"]
    return rows.assign(change=corruption.where(rows["family"] == "corruption", rows["family"]))


def _choose(rows: pd.DataFrame) -> dict[str, list[Place]]:
    """Return the changes of one question that are shown, each with the places of its ways; "" is the clean question."""
    choice = {"": _places(rows[rows["family"] == CLEAN.family])}
    shares = rows[rows["changed"]].groupby("change", sort=False)["flip"].mean()
    for change in _largest(shares[shares > 0], CHANGES):
        of_change = rows[rows["change"] == change]
        worst = _largest(of_change.groupby(_PLACE, sort=False)["flip"].mean(), WAYS)
        choice[change] = [place for place in _places(of_change) if place in worst]
    return choice


def _largest(shares: pd.Series, count: int) -> list[Any]:
    """Return the names of the largest shares; of equal ones, the first."""
    return list(shares.sort_values(ascending=False, kind="stable").index[:count])


def _places(rows: pd.DataFrame) -> list[Place]:
    return list(dict.fromkeys(rows[_PLACE].itertuples(index=False, name=None)))


def _place(item: Item) -> Place:
    """Return what tells an item from others of its data set, as the predictions say it."""
    variant = item.variant
    suite = variant.operation.partition("/")[0]
    return suite, variant.family, variant.name, variant.severity, variant.question.id


def _show(items: dict[Place, Item]) -> dict[Place, tuple[Question, str]]:
    """Return each question as it was asked, with the data URI of its picture."""
    places, asked = list(items), list(items.values())
    return {
        places[number]: (asked[number].variant.question, "" if prompt.image is None else _thumbnail(prompt.image))
        for number, prompt in prompts_by_picture(asked)
    }


def _thumbnail(pixels: Pixels) -> str:
    image = Image.fromarray(pixels)
    image.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
    return data_uri(image, quality=85)


def _case(rows: pd.DataFrame, choice: dict[str, list[Place]], shown: dict[Place, tuple[Question, str]]) -> Case:
    replies: dict[Place, dict[str, Reply]] = {}
    for place, row in zip(rows[_PLACE].itertuples(index=False, name=None), rows.to_dict("records"), strict=True):
        replies.setdefault(place, {})[row["model"]] = _reply(row)
    ways = {name: [_way(place, *shown[place], replies[place]) for place in places] for name, places in choice.items()}
    changed = rows[rows["changed"]]
    question, _ = shown[choice[""][0]]
    return Case(
        clean=ways[""][0],
        right=question.options[question.label] if question.options else Counter(question.answers).most_common(1)[0][0],
        category=rows["category"].iloc[0],
        flips=int(changed["flip"].sum()),
        asked=len(changed),
        changes=[_change(name, changed[changed["change"] == name], ways[name]) for name in ways if name],
    )


def _change(name: str, answers: pd.DataFrame, ways: list[Way]) -> Change:
    return Change(name, int(answers["flip"].sum()), len(answers), ways)


def _way(place: Place, question: Question, picture: str, replies: dict[str, Reply]) -> Way:
    _, family, variant, severity, _ = place
    name = variant if family not in ("corruption", CLEAN.family) else ""
    name = " ".join(part for part in (name, f"severity {severity}" if severity else "") if part)
    return Way(name or CLEAN.variant, picture, question.text, question.options, replies)


def _reply(row: Mapping[Any, Any]) -> Reply:
    confidence = "" if pd.isna(row["confidence"]) else f"{row['confidence']:.2f}"
    return Reply(row["answer"] or row["response"] or row["status"], row["score"] >= RIGHT, confidence)
