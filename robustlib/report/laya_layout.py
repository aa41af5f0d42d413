"""How the third document lays out its tables: which number stands in which column, and what the columns are called."""

from collections.abc import Collection
from dataclasses import dataclass

from robustlib.report.tables import Column

FAMILY_LABELS = {
    "clean": "Unperturbed",
    "option_order": "Option order",
    "text": "Text",
    "image": "Image",
    "image_shuffle": "Shuffled image",
    "text_only": "No image",
    "typos": "Typing errors",
    "option_set": "Option set",
    "abstain": "Abstention",
    "form_choice": "Form",
    "negation": "Negation",
    "inject_text": "Text injection",
    "inject_image": "Image injection",
}
"""Families in the order of tables and figures."""

CONDITION_LABELS = {
    "repeat": "asked again",
    "batched": "in batches",
    "reversed": "in batches, reversed",
    "batched_reversed": "in batches, reversed",
    "hostile": "beside hostile neighbours",
    "multi": "all questions on an image in one call",
    "multi_hostile": "the same and one with many options",
    "bf16": "bfloat16 weights",
    "predict_repeat": "predict: asked again",
    "predict_multi": "predict: all questions on an image in one call",
    "predict_multi_hostile": "predict: the same and one with many options",
    "predict_prefix_cache": "predict: with prefix cache",
    "predict_multi_prefix_cache": "predict: all questions, with prefix cache",
    "predict_vs_batch": "predict against batch path",
}
"""Ways of asking; those with "predict" are of the authors' second code path."""


Cells = dict[tuple[str, ...], Column]
"""The columns of a table by what identifies their numbers in a summary."""


def _group(title: str, family: str, variant: str, metrics: dict[str, str], bounded: Collection[str] = ()) -> Cells:
    """Return columns of three decimals under one heading.

    Args:
        title: the heading.
        family: of the numbers.
        variant: of the numbers, "" for all of the family.
        metrics: for each metric how its column reads.
        bounded: metrics with their interval beside them.
    """
    start = "_".join(part for part in (family, variant) if part)
    return {
        (family, variant, metric): Column(
            name=f"{start}_{metric}",
            label=label,
            group=title,
            decimals=3,
            interval=(f"{start}_{metric}_low", f"{start}_{metric}_high") if metric in bounded else (),
        )
        for metric, label in metrics.items()
    }


CHANGE = "accuracy_change"
"""The metric that is bold where its interval excludes 0."""

_DELTA = r"$\Delta$ acc."
_CHANGES = {"accuracy": "Acc.", "accuracy_change": _DELTA}
_FLIPS = {**_CHANGES, "flip_rate": "Flip"}

MAIN = (
    _group(FAMILY_LABELS["clean"], "clean", "", {"accuracy": "Acc."}, bounded=["accuracy"])
    | _group(FAMILY_LABELS["option_order"], "option_order", "", _FLIPS)
    | _group(FAMILY_LABELS["text"], "text", "", _FLIPS)
    | _group(FAMILY_LABELS["image"], "image", "", _FLIPS)
    | _group(FAMILY_LABELS["image_shuffle"], "image_shuffle", "", _CHANGES)
    | _group(FAMILY_LABELS["text_only"], "text_only", "", _CHANGES)
    | _group("", "clean", "", {"chance_accuracy": "Chance"})
    | _group("", "text_only", "", {"majority_accuracy": "Majority"})
)
"""The document's table of results: by family, variant and metric, as all that follow."""

_ACCURACIES, _RATES = "Accuracy at severity", "Flip rate at severity"
TYPOS = {
    key: column
    for cells in (
        _group(_ACCURACIES, "clean", "", {"accuracy": "0"}),
        *(_group(_ACCURACIES, "typos", f"keyboard-{level}", {"accuracy": f"{level}"}) for level in range(1, 6)),
        *(_group(_RATES, "typos", f"keyboard-{level}", {"flip_rate": f"{level}"}) for level in range(1, 6)),
    )
    for key, column in cells.items()
}
"""Typing errors by severity; 0 is the question as it stands."""


@dataclass(frozen=True)
class Block:
    """A table of an extension family."""

    name: str
    about: str
    """How to read its columns."""
    cells: Cells


_ATTACK = {"attack_success_rate"}

EXTENSIONS = (
    Block(
        "option_set",
        "An option more or less. Flip: another answer than unperturbed (kept: where that answer is still offered). "
        "Picked: the distractor is the answer. Logit shift: mean absolute change of the difference between the logits "
        "of two options that are offered both times.",
        _group(
            "Distractor added",
            "option_set",
            "add_distractor",
            {
                "accuracy_change": _DELTA,
                "flip_rate": "Flip",
                "distractor_pick_rate": "Picked",
                "abs_logit_shift": "Logit shift",
            },
            bounded=["accuracy_change", "distractor_pick_rate"],
        )
        | _group(
            "Wrong option dropped",
            "option_set",
            "drop_wrong",
            {"accuracy_change": _DELTA, "flip_rate_kept": "Flip (kept)", "abs_logit_shift": "Logit shift"},
            bounded=["accuracy_change"],
        ),
    ),
    Block(
        "abstention",
        "No right option, or one more that says so. Confidence: mean probability of the answer, and the share of "
        "answers above 0.8; in parentheses, of the same questions unperturbed. Picked: the answer is 'none of the "
        "above'. Rise: how much more often it is picked when the image is another question's.",
        _group(
            "Right option dropped",
            "abstain",
            "drop_gold",
            {
                "confidence": "Conf.",
                "clean_confidence": "(Conf.)",
                "confidence_above_0.8": "$> 0.8$",
                "clean_confidence_above_0.8": "($> 0.8$)",
            },
            bounded=["confidence"],
        )
        | _group("'None' added", "abstain", "add_none", {"none_rate": "Picked", "accuracy_change": _DELTA})
        | _group(
            "'None' added, image shuffled",
            "abstain",
            "add_none_shuffled",
            {"none_rate": "Picked", "none_rate_rise": "Rise"},
            bounded=["none_rate_rise"],
        ),
    ),
    Block(
        "form",
        "The same judgement in the other form. Agree: the same answer. Gap: mean absolute difference of the "
        "probability of yes. A choice is put together again from one yes/no question for each option; sum: of their "
        "probabilities of yes, 1 for a consistent model. In parentheses: unperturbed.",
        _group(
            "Yes/no asked as choice",
            "form_choice",
            "noul_to_choice",
            {"agreement": "Agree", "abs_gap": "Gap", "accuracy": "Acc."},
            bounded=["agreement"],
        )
        | _group(
            "Choice asked as yes/no",
            "form_choice",
            "choice_to_noul",
            {
                "agreement": "Agree",
                "accuracy": "Acc.",
                "clean_accuracy": "(Acc.)",
                "chance_accuracy": "Chance",
                "yes_sum": "Sum",
            },
            bounded=["agreement"],
        ),
    ),
    Block(
        "negation",
        "Yes/no questions turned to their opposite. Not opposite: the answer is not the opposite of the unperturbed "
        "one. Sum: probability of yes to both, 1 for a consistent model; outside: of 0.9 to 1.1.",
        _group("", "negation", "", {"accuracy": "Acc.", "flip_rate": "Not opposite"}, bounded=["accuracy", "flip_rate"])
        | _group(
            "Sum",
            "negation",
            "",
            {
                "complement_sum": "Mean",
                "complement_sum_min": "Min",
                "complement_sum_max": "Max",
                "complement_outside": "Outside",
            },
            bounded=["complement_sum", "complement_outside"],
        ),
    ),
    Block(
        "injection",
        "A wrong option is pushed, drawn into the image or written into the question. Success rate: the answer is that "
        "option, among questions whose unperturbed answer was another.",
        _group("Image", "inject_image", "", {"accuracy": "Acc."})
        | _group("Image: success rate", "inject_image", "typo_corner", {"attack_success_rate": "Corner"}, _ATTACK)
        | _group("Image: success rate", "inject_image", "typo_center", {"attack_success_rate": "Centre"}, _ATTACK)
        | _group("Text", "inject_text", "", {"accuracy": "Acc."})
        | _group("Text: success rate", "inject_text", "blunt", {"attack_success_rate": "Blunt"}, _ATTACK)
        | _group("Text: success rate", "inject_text", "authority", {"attack_success_rate": "Authority"}, _ATTACK)
        | _group("Text: success rate", "inject_text", "context", {"attack_success_rate": "Context"}, _ATTACK),
    ),
)
"""The document's extensions; none of their numbers is an accuracy to set beside the main table."""
