"""The main table of the families: against a plain loop, by hand, and on models whose behaviour is known."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from robustlib.data.images import LazyImage
from robustlib.data.question import Question
from robustlib.errors import InvalidValueError
from robustlib.metrics.families import MAIN_FAMILIES, average_over_datasets, family_summary
from robustlib.perturbations import Variant
from robustlib.seeding import generator
from tests.metrics.answering import predict
from tests.metrics.by_loop import family_by_loop

IMAGES = [LazyImage(np.full((2, 2, 3), shade, np.uint8)) for shade in range(12)]
OPTIONS = ("cab", "bus", "tram", "tank")
PERTURBED = [family for family in MAIN_FAMILIES if family != "clean"]


def ask(number: int) -> Question:
    """Two questions an image: a choice of two to four options, and a yes/no question."""
    image = number // 2
    options = ("no", "yes") if number % 2 else OPTIONS[: 2 + image % 3]
    return Question(
        id=f"q{number:02d}",
        image=IMAGES[image],
        image_id=f"image{image}",
        text=f"what is thing {number}?",
        kind="yesno" if number % 2 else "choice",
        options=options,
        label=image % 2,
        dataset="toys",
    )


QUESTIONS = [ask(number) for number in range(24)]


def by_chance(variant: Variant) -> Sequence[float]:
    """Favour the right option, with as much noise as signal."""
    shown = variant.question
    logits = generator(shown.id).normal(size=len(shown.options))
    logits[shown.label] += 1
    return list(logits)


def by_text(variant: Variant) -> Sequence[float]:
    """Judge each option by its letters alone, whatever the question, the image and the order."""
    return [generator(option.lower().rstrip(".")).normal() for option in variant.question.options]


def first_shown(variant: Variant) -> Sequence[float]:
    """Take the option that is shown first."""
    return [-float(place) for place in range(len(variant.question.options))]


def always_right(variant: Variant) -> Sequence[float]:
    """Take the right option."""
    return [float(place == variant.question.label) for place in range(len(variant.question.options))]


def value_of(table: pd.DataFrame, family: str, metric: str, variant: str = "") -> float:
    rows = table[(table["family"] == family) & (table["metric"] == metric) & (table["variant"] == variant)]
    (value,) = rows["value"]
    return float(value)


def test_summary_agrees_with_a_plain_loop() -> None:
    predictions = predict(QUESTIONS, PERTURBED, by_chance)
    summary = family_summary(predictions, resamples=60, seed=3).set_index(["family", "variant", "metric"])
    records = predictions.to_dict("records")
    clean = {str(row["group_id"]): row for row in records if row["family"] == "clean"}
    compared = 0
    for family in MAIN_FAMILIES:
        numbers = family_by_loop([row for row in records if row["family"] == family], clean, resamples=60, seed=3)
        for metric, expected in numbers.items():
            found = summary.loc[(family, "", metric), ["value", "low", "high"]]
            np.testing.assert_allclose(found.astype(float), expected, err_msg=f"{family} {metric}")
            compared += 1
    assert compared == 7 * 6


def test_a_question_counts_once_however_many_variants_it_has() -> None:
    def right_on_choices(variant: Variant) -> Sequence[float]:
        right = variant.question.kind == "choice"
        return [float((place == variant.question.label) == right) for place in range(len(variant.question.options))]

    choice, yes_no = QUESTIONS[4], QUESTIONS[1]
    assert len(choice.options) == 4
    table = family_summary(predict([choice, yes_no], ["option_order"], right_on_choices))
    rows = table[(table["metric"] == "accuracy") & (table["variant"] == "") & (table["family"] == "option_order")]
    assert rows["value"].tolist() == [0.5]
    assert rows[["groups", "clusters"]].to_numpy().tolist() == [[2, 2]]
    assert rows["rows"].item() > 4


def test_flips_are_changed_answers_right_or_wrong() -> None:
    def second_without_an_image(variant: Variant) -> Sequence[float]:
        return [0.0, float(variant.family == "text_only")]

    labels = (0, 1, 1, 1)
    questions = [replace(ask(4 * number + 1), label=label) for number, label in enumerate(labels)]
    table = family_summary(predict(questions, ["text_only"], second_without_an_image))
    assert value_of(table, "text_only", "flip_rate") == 1
    assert value_of(table, "text_only", "clean_accuracy") == 1 / 4
    assert value_of(table, "text_only", "accuracy_change") == 1 / 2


def test_a_model_that_reads_options_alone_never_flips_when_they_move() -> None:
    table = family_summary(predict(QUESTIONS, ["option_order", "image_shuffle", "text_only"], by_text))
    for family in ("option_order", "image_shuffle", "text_only"):
        assert value_of(table, family, "any_flip_rate") == 0
        assert value_of(table, family, "accuracy_change") == 0
    assert value_of(table, "option_order", "accuracy_spread_by_order") == 0
    assert value_of(table, "image_shuffle", "agreement_with_text_only") == 1


def test_a_model_that_takes_the_first_option_is_caught_by_position() -> None:
    table = family_summary(predict(QUESTIONS, ["option_order"], first_shown))
    assert value_of(table, "option_order", "accuracy_by_position", "position 0") == 1
    assert value_of(table, "option_order", "accuracy_by_position", "position 1") == 0
    assert value_of(table, "option_order", "accuracy_spread_by_position") == 1
    assert value_of(table, "option_order", "flip_rate", "shift1") == 1


def test_controls_come_with_chance_and_majority() -> None:
    table = family_summary(predict(QUESTIONS, ["text_only"], by_chance))
    labels = [question.label for question in QUESTIONS]
    assert value_of(table, "text_only", "majority_accuracy") == max(labels.count(0), labels.count(1)) / 24
    assert value_of(table, "text_only", "chance_accuracy") == pytest.approx(
        np.mean([1 / len(question.options) for question in QUESTIONS])
    )


def test_balanced_accuracy_is_the_mean_recall() -> None:
    yes_no = [replace(question, label=int(number < 3)) for number, question in enumerate(QUESTIONS[1::2])]
    always_yes = predict(yes_no, ["text_only"], lambda variant: [0.0, 1.0])
    table = family_summary(always_yes)
    assert value_of(table, "text_only", "accuracy") == 3 / 12
    assert value_of(table, "text_only", "balanced_accuracy") == 1 / 2


def test_no_answer_is_wrong_and_another_answer() -> None:
    nothing = {"choice": -1, "score": 0.0, "answer": "", "confidence": None, "logits": None, "probs": None}
    records = predict(QUESTIONS, ["text_only"], always_right).to_dict("records")
    lost = [row | nothing if row["question_id"] == "q00|text_only/no_image" else row for row in records]
    table = family_summary(pd.DataFrame(lost))
    assert value_of(table, "text_only", "accuracy") == pytest.approx(23 / 24)
    assert value_of(table, "text_only", "flip_rate") == pytest.approx(1 / 24)
    ece = table[(table["family"] == "text_only") & (table["metric"] == "ece")]
    assert ece["rows"].item() == 23


def test_open_answers_flip_when_their_normalised_texts_differ() -> None:
    records = predict(QUESTIONS[:3], ["text_only"], first_shown).to_dict("records")
    said = [("two", 1.0), ("a cat", 0.3), ("red", 0.0), ("2", 1.0), ("Cat.", 0.3), ("blue", 0.0)]
    is_open = dict.fromkeys(["order", "logits", "probs", "confidence"]) | {"kind": "open", "choice": -1, "label": -1}
    answered = [{"answer": text, "score": score} for text, score in said]
    opened = [row | is_open | answer for row, answer in zip(records, answered, strict=True)]
    table = family_summary(pd.DataFrame(opened))
    assert value_of(table, "text_only", "flip_rate") == pytest.approx(1 / 3)
    assert value_of(table, "text_only", "accuracy") == pytest.approx(1.3 / 3)
    assert set(table["metric"]) == {"accuracy", "clean_accuracy", "accuracy_change", "flip_rate", "any_flip_rate"}


def test_typing_errors_are_told_apart_by_severity() -> None:
    table = family_summary(predict(QUESTIONS, ["typos"], by_chance))
    assert set(table.loc[table["family"] == "typos", "variant"]) == {"", *(f"keyboard-{n}" for n in range(1, 6))}


def test_one_image_gives_no_interval() -> None:
    table = family_summary(predict(QUESTIONS[:2], ["text_only"], by_chance))
    assert table[["low", "high"]].isna().all(axis=None)
    assert table["value"].notna().all()


def test_models_and_data_sets_are_kept_apart() -> None:
    other = [replace(question, dataset="other") for question in QUESTIONS[:8]]
    tables = [predict(QUESTIONS, ["text"], by_chance, "one"), predict(other, ["text"], by_text, "two")]
    both = family_summary(pd.concat(tables, ignore_index=True))
    apart = pd.concat([family_summary(table) for table in tables], ignore_index=True)
    pd.testing.assert_frame_equal(both, apart)


def test_nothing_gives_an_empty_table_with_typed_columns() -> None:
    predictions = predict(QUESTIONS, ["text"], by_chance)
    empty = family_summary(predictions[:0])
    assert empty.empty
    assert empty.dtypes.equals(family_summary(predictions).dtypes)
    assert average_over_datasets(empty).empty


def _without_clean(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[(frame["family"] != "clean") | (frame["group_id"] != "q03")]


def _wrong_logits(frame: pd.DataFrame) -> pd.DataFrame:
    first, *others = frame.to_dict("records")
    return pd.DataFrame([first | {"logits": [0.0, 1.0, 2.0, 3.0, 4.0]}, *others])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda frame: frame.drop(columns=["order", "target"]), r"lack the columns \['order', 'target'\]"),
        (lambda frame: pd.concat([frame, frame[-1:]]), "toy on toys/test stand twice"),
        (_without_clean, r"2 answers of toy on toys/test have no clean answer .* family text_only .* question 'q03'"),
        (_wrong_logits, "Question q00 has 2 options by its order, but has so many logits: 5"),
        (lambda frame: frame.assign(order=None), "Question q00 has 0 options by its order, but chose option"),
        (lambda frame: frame.assign(label=7), "but has the label 7"),
        (lambda frame: frame.assign(score=np.nan), r"score must lie in \[0, 1\], got nan in row 0"),
    ],
)
def test_a_table_that_is_not_whole_is_refused(spoil: Any, message: str) -> None:
    predictions = predict(QUESTIONS, ["text_only", "image_shuffle"], by_chance)
    with pytest.raises(InvalidValueError, match=message):
        family_summary(spoil(predictions))
