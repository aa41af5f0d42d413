"""Kinds of errors and colour bias in the visual robustness benchmark for VQA (Sections 8.1 and 8.2) as tables."""

from collections import Counter
from dataclasses import dataclass

import pandas as pd

from robustlib.data import Question
from robustlib.data.labelled import labelled_error_kinds
from robustlib.metrics.colour_bias import colour_bias_shares
from robustlib.metrics.error_kinds import KINDS, agreement, count_kinds, sort_answers
from robustlib.report.tables import Column, Table, round_text
from robustlib.report.vqa_layout import in_table_order, label_of
from robustlib.scoring import normalise_answer
from robustlib.seeding import generator
from robustlib.sweep.questions import load_asked
from robustlib.sweep.store import read_predictions

SHARE_LABELS = {"chromatic": "Names a chromatic colour", "kept": "As on the clean image", "right": "Scored as right"}
CONDITION_LABELS = {"clean": "Clean", "grayscale": "Grey", "grayscale_inverse": "Inverted grey"}

_COLUMNS = ["model", "dataset", "split", "question_id", "image_id", "suite", "family", "variant", "severity"]
_EXAMPLE = {
    "kind": "Kind",
    "question": "Question",
    "reference": "Right answer",
    "clean_answer": "On the clean image",
    "answer": "On the corrupted image",
    "model": "Model",
    "corruption": "Corruption",
}


@dataclass(frozen=True)
class ErrorEvidence:
    """What the tables and figures of errors are made from."""

    answers: pd.DataFrame
    """From `robustlib.metrics.error_kinds.sort_answers`; corruptions in the order of Table 1."""
    bias: pd.DataFrame
    """From `robustlib.metrics.colour_bias.colour_bias_shares`; without rows where no question asks for a colour."""


def load_error_evidence(source: str, resamples: int = 1000, seed: int = 0) -> ErrorEvidence:
    """Read a sweep over the suites ``vqa_bench`` and ``vqa_bench_extra`` and sort its answers.

    Args:
        source: the folder of the sweep; see `robustlib.sweep.questions.load_asked` on from where to call this.
        resamples: of images, for the intervals of the colour bias.
        seed: of the resamples.

    Raises:
        InvalidValueError: the sweep did not ask about the corruptions of one of the two suites.
        StoreError, RobustlibError: the sweep is not whole, or its questions have changed or cannot be read.
    """
    predictions = read_predictions(source, [*_COLUMNS, "answer", "score"])
    questions = pd.DataFrame(
        [
            (dataset.name, dataset.split, question.id, " ".join(question.text.split()), _reference(question))
            for dataset in load_asked(source)
            for question in dataset
        ],
        columns=["dataset", "split", "question_id", "question", "reference"],
    )
    answers = sort_answers(predictions, questions)
    order = in_table_order(list(answers["corruption"].unique()))
    answers = answers.sort_values("corruption", kind="stable", key=lambda names: names.map(order.index))
    return ErrorEvidence(answers, colour_bias_shares(predictions, questions, resamples, seed))


def kind_tables(evidence: ErrorEvidence) -> list[Table]:
    """Return the tables of the kinds of errors, by model, and by corruption; none where no clean answer was right."""
    return [_kind_table(evidence, by) for by in ("model", "corruption") if len(evidence.answers)]


def example_tables(evidence: ErrorEvidence, per_kind: int, seed: int) -> list[Table]:
    """Return a table of some errors of each kind, drawn by the seed; none where nothing turned wrong."""
    errors = evidence.answers[evidence.answers["kind"] != ""]
    drawn = errors.iloc[generator("error_examples", seed).permutation(len(errors))].drop_duplicates("question")
    some = drawn.groupby("kind").head(per_kind)
    some = some.sort_values("kind", kind="stable", key=lambda kinds: kinds.map(KINDS.index))
    columns = (*(Column(name, label) for name, label in _EXAMPLE.items()), Column("severity", "Severity", decimals=0))
    caption = (
        f"Answers that turned wrong: up to {per_kind} of each kind, drawn at random (seed {seed}) from all "
        f"n = {len(errors):,}, no question twice."
    )
    return [Table("error_examples", caption, some[[*_EXAMPLE, "severity"]], columns)] if len(some) else []


def agreement_table() -> Table:
    """Return how far the rules agree with the person who labelled `robustlib.data.labelled.labelled_error_kinds`."""
    labelled = labelled_error_kinds()
    frame = agreement(labelled)
    printed = agreement(labelled[labelled["source"] == "table4"])
    return Table(
        name="error_rules",
        caption=(
            f"The rules against n = {len(labelled)} wrong answers that one author of robustlib labelled before the "
            f"rules were written: they agree on {frame['both'].sum()} of all, and on {printed['both'].sum()} of the "
            f"{printed['labelled'].sum()} that the benchmark prints in its Table 4. Precision: of those that the rules "
            "sort there; recall: of those that the person does. One labeller, who also wrote the rules; hard cases on "
            "purpose."
        ),
        frame=frame,
        columns=(
            Column("kind", "Kind"),
            Column("labelled", "Labelled", "Answers", 0),
            Column("ruled", "Ruled", "Answers", 0),
            Column("both", "Both", "Answers", 0),
            Column("precision", "Precision", decimals=2),
            Column("recall", "Recall", decimals=2),
        ),
    )


def bias_tables(evidence: ErrorEvidence) -> list[Table]:
    """Return the table of the colour bias; none where no question asks for a colour."""
    bias = evidence.bias
    if bias.empty:
        return []
    shares = [
        Column(name, label, "Share of answers", 3, (f"{name}_low", f"{name}_high"))
        for name, label in SHARE_LABELS.items()
    ]
    return [
        Table(
            name="colour_bias",
            caption=(
                "Colour questions about images without colour: the share of answers that name a colour other than "
                "black, white or grey, that are the same as on the clean image, and that the reference answers of the "
                "coloured image still count as right, with 95 % intervals (images resampled; no width where all agree)."
            ),
            frame=bias,
            columns=(
                Column("model", "Model"),
                Column("condition", "Image"),
                Column("questions", "Questions", decimals=0),
                Column("images", "Images", decimals=0),
                *shares,
            ),
            rules=frozenset(bias.index[bias["model"] != bias["model"].shift()][1:]),
            labels=CONDITION_LABELS,
        )
    ]


def error_reading(evidence: ErrorEvidence) -> str:
    """Return a Markdown list of what stands out."""
    if evidence.answers.empty:
        return "- No answer was right on the clean image, so that none could turn wrong."
    corruptions = count_kinds(evidence.answers, ["corruption"]).set_index("corruption")
    total = corruptions[["answers", "turned_wrong", *KINDS]].sum()
    sentences = [
        f"Of {total['answers']:,} answers that were right on the clean image, {total['turned_wrong']:,} "
        f"({_percent(total['turned_wrong'] / total['answers'])}) turned wrong."
    ]
    for kind in (kind for kind in KINDS if total[kind]):
        share, of_all = corruptions[f"{kind}_share"], total[kind] / total["turned_wrong"]
        worst = str(share.idxmax())
        sentences.append(
            f"{kind.replace('_', ' ').capitalize()}: {_percent(of_all)} of these; most under "
            f"{label_of(worst)}, {_percent(share[worst])} of {corruptions['turned_wrong'][worst]:,}."
        )
    for condition, rows in evidence.bias[evidence.bias["condition"] != "clean"].groupby("condition", sort=False):
        share = rows.set_index("model")["chromatic"]
        shares = f"from {_percent(share.min())} ({share.idxmin()}) to {_percent(share.max())} ({share.idxmax()})"
        if share.min() == share.max():
            shares = _percent(share.max())
        sentences.append(
            f"{CONDITION_LABELS[str(condition)]} images: {shares} of the answers to colour questions name a chromatic "
            "colour."
        )
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _kind_table(evidence: ErrorEvidence, by: str) -> Table:
    frame = count_kinds(evidence.answers, [by])
    return Table(
        name=f"error_kinds_by_{by}",
        caption=(
            "Answers that were right on the clean image, how many of them turned wrong under corruption, and which "
            f"kinds of errors (told by rules) they became, by {by}. Shares are of the answers that turned wrong."
        ),
        frame=frame,
        columns=(
            Column(by, by.capitalize()),
            Column("answers", "Right before", decimals=0),
            Column("turned_wrong", "Turned wrong", decimals=0),
            *(Column(kind, kind.replace("_", " "), "Answers", 0) for kind in KINDS),
            *(Column(f"{kind}_share", kind.replace("_", " "), "Share", 3) for kind in KINDS),
        ),
        labels={name: label_of(name) for name in frame["corruption"]} if by == "corruption" else {},
    )


def _reference(question: Question) -> str:
    """Return the right option, or the answer that most people gave, of equals the first."""
    if question.options:
        return question.options[question.label]
    return Counter(map(normalise_answer, question.answers)).most_common(1)[0][0]


def _percent(share: float) -> str:
    return f"{round_text(100 * share, 1)} %"
