"""The nine text rules and the two families that reframe a question, as tables of what becomes what."""

import pytest

from robustlib.data.question import Question
from robustlib.perturbations import perturb
from robustlib.perturbations.wording import is_plain, statement_body


def reworded(text: str, kind: str = "open", options: tuple[str, ...] = ()) -> dict[str, Question]:
    label = 0 if options else -1
    question = Question("q", None, "i", text, kind, options, label)  # type: ignore[arg-type]  # kinds are checked at run time
    return {variant.name: variant.question for variant in perturb([question], "text")}


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        ("prefix", "What is it?", "Question: What is it?"),
        ("prefix", "  question: What is it?", None),
        ("prefix", "Questionable?", "Question: Questionable?"),
        ("suffix", "What is it?", None),
        ("double_spaces", " What\tis  it? ", "What  is  it?"),
        ("double_spaces", "What?", None),
        ("double_spaces", " What? ", None),
        ("first_case", "What is it?", "what is it?"),
        ("first_case", " what is it?", " What is it?"),
        ("first_case", "It's red.", "it's red."),
        ("first_case", "NASA built it.", None),
        ("first_case", "iPhone or not?", None),
        ("first_case", "A cat?", None),
        ("first_case", '"What" is it?', None),
        ("first_case", "3d or not?", None),
        ("first_case", "", None),
        ("end_punct", "What is it? ", "What is it"),
        ("end_punct", "Wait...", "Wait.."),
        ("end_punct", "Look !", "Look"),
        ("end_punct", "what is it", "what is it?"),
        ("end_punct", '("Where is it', '("Where is it?'),
        ("end_punct", "It is red", "It is red."),
        ("end_punct", "  ", None),
        ("noul_frame", "Is it red?", None),
        ("option_case", "Is it red?", None),
    ],
)
def test_rule_on_an_open_question(rule: str, before: str, after: str | None) -> None:
    changed = reworded(before).get(rule)
    assert (changed and changed.text) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Is it red? ", "Decide whether the answer to this question is yes: Is it red?"),
        ("The cat is red.", "Is it true that the cat is red?"),
        ("NASA built it!..", "Is it true that NASA built it?"),
        ("is it red", "Is it true that is it red?"),
        ("", None),
    ],
)
def test_yes_no_frame(before: str, after: str | None) -> None:
    changed = reworded(before, "yesno", ("no", "yes")).get("noul_frame")
    assert (changed and changed.text) == after


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        (("No, it is not.", "Yes, it is."), True),
        (("False", "True"), True),
        (("no", "yes"), False),
        (("left", "right"), False),
    ],
)
def test_yes_no_options_become_short_words(options: tuple[str, ...], changes: bool) -> None:
    changed = reworded("Is it red?", "yesno", options).get("noul_options")
    assert (changed is not None) == changes
    assert changed is None or changed.options == ("no", "yes")


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        ("option_case", ("cab", "Big bus", "NASA", "a.", "a b", "3"), ("Cab", "big bus", "NASA", "a.", "a b", "3")),
        ("option_case", ("cab", "Cab"), None),
        ("option_case", ("A", "B"), None),
        ("option_period", ("cab", "bus ", "12.5%", "why?", "(x)", ""), ("cab.", "bus.", "12.5%", "why?", "(x)", "")),
        ("option_period", ("cab", "cab."), None),
        ("option_period", ("1", "-2,000"), None),
        ("option_period", ("cab", "CAB"), None),
    ],
)
def test_rule_on_options(rule: str, before: tuple[str, ...], after: tuple[str, ...] | None) -> None:
    changed = reworded("What is it?", "choice", before).get(rule)
    assert (changed and changed.options) == after


def test_suffix_needs_options() -> None:
    changed = reworded("Which one? ", "choice", ("cab", "bus"))
    assert changed["suffix"].text == "Which one? Choose the correct option."


def test_plain_words() -> None:
    words = ["Cat", "cat's", "x-ray", "A", "3d", "aB", "NASA", ""]
    assert [word for word in words if is_plain(word)] == ["Cat", "cat's", "x-ray"]


def test_statement_body() -> None:
    assert statement_body(" Cats sleep. ! ") == "cats sleep"
    assert statement_body("I sleep.") == "I sleep"


@pytest.mark.parametrize(
    ("text", "name", "framed"),
    [
        ("Is it red?", "question", "Decide whether the answer to this question is no: Is it red?"),
        ("is it red", "question", "Decide whether the answer to this question is no: is it red"),
        ("Cats are red.", "statement", "Is it false that cats are red?"),
    ],
)
def test_negation_turns_label_and_answers_round(text: str, name: str, framed: str) -> None:
    question = Question("q", None, "i", text, "yesno", ("no", "yes"), 1, ("yes", "no", "maybe"))
    (variant,) = perturb([question], "negation")
    assert (variant.name, variant.question.text) == (name, framed)
    assert variant.question.label == 0
    assert variant.question.answers == ("no", "yes", "maybe")


def test_negation_leaves_other_questions_alone() -> None:
    questions = [
        Question("own words", None, "i", "Which way?", "yesno", ("left", "right"), 1),
        Question("blank", None, "i", " ", "yesno", ("no", "yes"), 1),
        Question("choice", None, "i", "Which?", "choice", ("no", "yes"), 1),
    ]
    assert perturb(questions, "negation") == ()


def test_a_yes_no_question_becomes_a_choice() -> None:
    question = Question("q", None, "i", "Red?", "yesno", ("No.", "Yes."), 1, ("yes",))
    (variant,) = perturb([question], "form_choice")
    shown = variant.question
    assert (shown.kind, shown.options, shown.label, variant.order) == ("choice", ("no", "yes"), 1, (0, 1))


def test_a_choice_becomes_one_yes_no_question_an_option() -> None:
    question = Question("q", None, "i", "Which?", "choice", ("cab", "bus", "tram"), 1, ("bus",))
    variants = perturb([question], "form_choice")
    assert [variant.target for variant in variants] == [0, 1, 2]
    assert [variant.question.label for variant in variants] == [0, 1, 0]
    assert [variant.question.answers for variant in variants] == [("no",), ("yes",), ("no",)]
    assert variants[2].question.text == "Is the answer to this question 'tram'? Which?"
