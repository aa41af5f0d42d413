"""The extension families by hand: each test writes down what a model says and works out what must be found."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from robustlib.data.images import LazyImage
from robustlib.data.question import Question
from robustlib.metrics.extensions import extension_summary
from robustlib.perturbations import Variant, perturb
from tests.metrics.answering import Scorer, predict

IMAGES = [LazyImage(np.full((2, 2, 3), 90 * shade, np.uint8)) for shade in range(2)]
TRAFFIC = Question("traffic", IMAGES[0], "street", "Which?", "choice", ("cab", "bus", "tram"), 1, dataset="toys")
PETS = Question("pets", IMAGES[1], "garden", "Which?", "choice", ("cat", "dog", "hen"), 0, dataset="toys")
DARK = Question("dark", IMAGES[0], "street", "Is it dark?", "yesno", ("no", "yes"), 1, dataset="toys")
GREEN = Question("green", IMAGES[1], "garden", "It is green.", "yesno", ("no", "yes"), 0, dataset="toys")


def saying(probabilities: Mapping[str, Sequence[float]]) -> Scorer:
    """Answer with these probabilities of the options shown, by family/name, or by source and family/name."""

    def scorer(variant: Variant) -> Sequence[float]:
        name = f"{variant.family}/{variant.name}"
        own = f"{variant.group_id} {name}"
        return list(np.log(probabilities[own if own in probabilities else name]))

    return scorer


def found(table: pd.DataFrame, variant: str = "") -> dict[str, float]:
    rows = table[table["variant"] == variant]
    assert not rows["metric"].duplicated().any()
    return dict(zip(rows["metric"], rows["value"], strict=True))


def test_an_added_distractor() -> None:
    says = saying(
        {
            "clean/clean": [0.2, 0.5, 0.3],
            "traffic option_set/add_distractor": [0.1, 0.4, 0.3, 0.2],
            "pets option_set/add_distractor": [0.1, 0.2, 0.3, 0.4],
            "option_set/drop_wrong": [0.5, 0.5],
        }
    )
    numbers = found(extension_summary(predict([TRAFFIC, PETS], ["option_set"], says)), "add_distractor")
    before, after = np.log([0.2, 0.5, 0.3]), np.log([[0.1, 0.4, 0.3], [0.1, 0.2, 0.3]])
    moved = after - before
    pairs = np.stack([moved[:, 0] - moved[:, 1], moved[:, 0] - moved[:, 2], moved[:, 1] - moved[:, 2]])
    assert numbers == pytest.approx(
        {
            "accuracy": 1 / 2,  # traffic: bus as before; pets: the distractor
            "clean_accuracy": 1 / 2,
            "accuracy_change": 0,
            "flip_rate": 1 / 2,
            "flip_rate_kept": 1 / 2,
            "distractor_pick_rate": 1 / 2,
            "logit_shift": pairs.mean(),
            "abs_logit_shift": np.abs(pairs).mean(),
            "abs_log_odds_shift": np.abs(pairs).mean(),
        }
    )


def test_a_dropped_option_that_was_the_answer_is_not_kept() -> None:
    dropped = next(v for v in perturb([TRAFFIC, PETS], "option_set") if v.group_id == "traffic" and len(v.order) == 2)
    gone = ({0, 1, 2} - set(dropped.order)).pop()
    says = saying(
        {
            "traffic clean/clean": [0.6 if place == gone else 0.2 for place in range(3)],
            "pets clean/clean": [0.6, 0.2, 0.2],
            "option_set/add_distractor": [0.4, 0.3, 0.2, 0.1],
            "option_set/drop_wrong": [0.7, 0.3],
        }
    )
    table = extension_summary(predict([TRAFFIC, PETS], ["option_set"], says))
    rows = table[table["variant"] == "drop_wrong"].set_index("metric")
    assert rows.loc["flip_rate", "rows"] == 2
    assert rows.loc["flip_rate_kept", "rows"] == 1
    assert rows.loc["flip_rate_kept", "value"] == 0, "the cat is still there and still the answer"


def test_no_right_answer() -> None:
    says = saying(
        {
            "clean/clean": [0.1, 0.82, 0.08],
            "traffic abstain/drop_gold": [0.5, 0.5],
            "pets abstain/drop_gold": [0.1, 0.9],
            "traffic abstain/add_none": [0.1, 0.6, 0.1, 0.2],
            "pets abstain/add_none": [0.1, 0.2, 0.3, 0.4],
            "abstain/add_none_shuffled": [0.1, 0.1, 0.1, 0.7],
        }
    )
    table = extension_summary(predict([TRAFFIC, PETS], ["abstain"], says))
    assert found(table, "drop_gold") == pytest.approx(
        {
            "confidence": 0.7,
            "confidence_above_half": 1 / 2,
            "confidence_above_0.8": 1 / 2,
            "clean_confidence": 0.82,
            "clean_confidence_above_half": 1,
            "clean_confidence_above_0.8": 1,
        }
    )
    plain = found(table, "add_none")
    assert plain == pytest.approx(
        {
            "none_rate": 1 / 2,
            "none_probability": 0.3,
            "accuracy": 1 / 2,
            "clean_accuracy": 1 / 2,
            "accuracy_change": 0,
        }
    )
    assert found(table, "add_none_shuffled") == pytest.approx(
        {"none_rate": 1, "none_probability": 0.7, "none_rate_rise": 1 / 2}
    )


def test_a_yes_no_question_as_a_choice() -> None:
    says = saying(
        {
            "clean/clean": [0.4, 0.6],
            "dark form_choice/noul_to_choice": [0.3, 0.7],
            "green form_choice/noul_to_choice": [0.7, 0.3],
        }
    )
    numbers = found(extension_summary(predict([DARK, GREEN], ["form_choice"], says)), "noul_to_choice")
    assert numbers == pytest.approx(
        {
            "accuracy": 1,
            "clean_accuracy": 1 / 2,
            "accuracy_change": 1 / 2,
            "agreement": 1 / 2,
            "gap": -0.1,
            "abs_gap": 0.2,
            "abs_gap_p50": 0.2,
            "abs_gap_p90": 0.28,
            "abs_gap_max": 0.3,
        }
    )


def asked_one_by_one(yes: Mapping[str, Sequence[float]], clean: Sequence[float]) -> Scorer:
    def scorer(variant: Variant) -> Sequence[float]:
        if variant.family == "clean":
            return list(np.log(clean))
        probability = yes[variant.group_id][variant.target]
        return list(np.log([1 - probability, probability]))

    return scorer


def test_a_choice_as_yes_no_questions() -> None:
    yes = {"traffic": [0.2, 0.9, 0.6], "pets": [0.4, 0.7, 0.1]}
    predictions = predict([TRAFFIC, PETS], ["form_choice"], asked_one_by_one(yes, [0.2, 0.5, 0.3]))
    numbers = found(extension_summary(predictions), "choice_to_noul")
    gaps = [(0.0 + 0.4 + 0.3) / 3, (0.2 + 0.2 + 0.2) / 3]
    assert numbers == pytest.approx(
        {
            "incomplete": 0,
            "accuracy": 1 / 2,  # bus is right, dog is not
            "clean_accuracy": 1 / 2,
            "accuracy_change": 0,
            "agreement": 1,
            "chance_accuracy": 1 / 3,
            "yes_no_accuracy": (2 / 3 + 1 / 3) / 2,  # tram said yes; dog said yes, cat said no
            "yes_sum": (1.7 + 1.2) / 2,
            "yes_sum_min": 1.2,
            "yes_sum_max": 1.7,
            "abs_gap": sum(gaps) / 2,
            "abs_gap_p50": sum(gaps) / 2,
            "abs_gap_p90": gaps[1] + 0.9 * (gaps[0] - gaps[1]),
            "abs_gap_max": max(gaps),
        }
    )


def test_a_choice_that_lacks_a_question_is_left_out_and_counted() -> None:
    yes = {"traffic": [0.2, 0.9, 0.6], "pets": [0.4, 0.7, 0.1]}
    predictions = predict([TRAFFIC, PETS], ["form_choice"], asked_one_by_one(yes, [0.2, 0.5, 0.3]))
    table = extension_summary(predictions[predictions["question_id"] != "pets|form_choice/choice_to_noul:2"])
    numbers = found(table, "choice_to_noul")
    assert (numbers["incomplete"], numbers["accuracy"]) == (1, 1)


def test_negation() -> None:
    says = saying(
        {
            "clean/clean": [0.3, 0.7],
            "negation/question": [0.6, 0.4],  # the opposite: 0.7 + 0.4
            "negation/statement": [0.1, 0.9],  # not the opposite: 0.7 + 0.9
        }
    )
    table = extension_summary(predict([DARK, GREEN], ["negation"], says))
    assert found(table) == pytest.approx(
        {
            "accuracy": 1,
            "clean_accuracy": 1 / 2,
            "accuracy_change": 1 / 2,
            "flip_rate": 1 / 2,
            "complement_sum": 1.35,
            "complement_deviation": 0.35,
            "complement_outside": 1 / 2,
            "complement_sum_min": 1.1,
            "complement_sum_max": 1.6,
        }
    )
    assert found(table, "question")["flip_rate"] == 0
    assert found(table, "statement")["flip_rate"] == 1


@pytest.mark.parametrize("family", ["inject_text", "inject_image"])
def test_an_attack(family: str) -> None:
    def gives_in(variant: Variant) -> Sequence[float]:
        shown = variant.question
        wanted = variant.target if "blunt" in variant.name or "corner" in variant.name else shown.label
        if variant.family == "clean" and variant.group_id == "dark":
            wanted = 0  # wrong before any attack, on what will be the target
        return list(np.log([0.8 if place == wanted else 0.1 for place in range(len(shown.options))]))

    table = extension_summary(predict([TRAFFIC, PETS, DARK], [family], gives_in))
    weak = "blunt" if family == "inject_text" else "typo_corner"
    assert found(table, weak)["attack_success_rate"] == 1
    assert found(table, weak)["clean_on_target"] == pytest.approx(1 / 3)
    assert found(table, weak)["target_probability_change"] == pytest.approx((0.7 + 0.7 + 0) / 3)
    assert found(table, weak)["accuracy"] == 0
    whole = found(table)
    variants = 3 if family == "inject_text" else 2
    assert whole["attack_success_rate"] == pytest.approx(1 / variants)
    assert whole["any_flip_rate"] == 1
    rows = table[(table["variant"] == weak) & (table["metric"] == "attack_success_rate")]
    assert rows["rows"].item() == 2, "the one that was on target already cannot be attacked"


def test_a_model_without_probabilities_still_has_rates() -> None:
    questions = [TRAFFIC, PETS, DARK, GREEN]
    families = ["option_set", "abstain", "form_choice", "negation", "inject_text"]
    whole = predict(questions, families, lambda variant: [0.0] * len(variant.question.options))
    bare = whole.assign(logits=None, probs=None, confidence=np.nan)
    with_probabilities, without = extension_summary(whole), extension_summary(bare)
    assert set(without["family"]) == set(families)
    assert without["value"].notna().all()
    lost = set(with_probabilities["metric"]) - set(without["metric"])
    assert {"abs_logit_shift", "confidence", "none_probability", "complement_sum", "ece"} <= lost
    keys = ["family", "variant", "metric"]
    shared = without[without["variant"] != "choice_to_noul"].merge(with_probabilities, on=keys, suffixes=("", "_with"))
    np.testing.assert_allclose(shared["value"], shared["value_with"])


def test_intervals_come_with_means() -> None:
    questions = [
        replace(question, id=f"{question.id}{copy}", image_id=f"{question.image_id}{copy}")
        for question in (DARK, GREEN)
        for copy in range(9)
    ]
    says = saying({"clean/clean": [0.3, 0.7], "negation/question": [0.6, 0.4], "negation/statement": [0.1, 0.9]})
    table = extension_summary(predict(questions, ["negation"], says))
    (row,) = table[(table["variant"] == "") & (table["metric"] == "flip_rate")].to_dict("records")
    assert 0.1 < row["low"] < row["value"] < row["high"] < 0.9
    assert row["clusters"] == 18


def test_nothing_gives_an_empty_table_with_typed_columns() -> None:
    predictions = predict([DARK], ["negation"], lambda variant: [0.0, 1.0])
    empty = extension_summary(predictions[:0])
    assert empty.empty
    assert empty.dtypes.equals(extension_summary(predictions).dtypes)
