from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustlib.errors import InvalidTypeError, InvalidValueError, UnknownNameError
from robustlib.scoring import Form, normalise_answer, vqa_accuracy

# Each row was worked by hand from the official rules; the comment names the rule.
NORMAL_FORMS = [
    ("yes", "yes"),
    ("  Yes\n", "yes"),  # line breaks and outer space, lower case
    ("dark\tblue", "dark blue"),
    ("None", "0"),  # number words
    ("zero", "0"),
    ("Ten", "10"),
    ("eleven", "eleven"),  # the official table ends at ten
    ("one hundred", "1 hundred"),
    ("The cat on a mat", "cat on mat"),  # articles
    ("an", ""),
    ("A.", ""),
    ("t-shirt", "t shirt"),  # a mark between letters becomes a space
    ("two-tone", "2 tone"),
    ("and/or", "and or"),
    ("yes, it is", "yes it is"),  # a mark beside a space goes
    ("yes,it is", "yes it is"),
    ("a - b", "b"),
    ("1,000", "1000"),  # a comma between digits deletes every mark of the text
    ("1,000 - 2,000", "1000 2000"),
    ("1,000-2,000", "10002000"),
    ("red-blue 1,000", "redblue 1000"),
    ("well-known - fact", "wellknown fact"),  # one mark beside a space deletes that mark everywhere
    ("5.", "5"),  # periods stay before a digit only
    (".5", ".5"),
    ("3.14", "3.14"),
    ("u.s.a.", "usa"),
    ("." * 40, ""),
    ("dont", "don't"),  # contractions
    ("DONT", "don't"),
    ("couldnt've", "couldn't've"),
    ("couldn'tve", "couldn't've"),
    ("oclock", "o'clock"),
    ("somebody'd", "somebodyd"),  # as in the official table
    ("somebodyd", "somebodyd"),
    ("Im", "im"),  # capitalised keys of the official table never match
    ("lets", "lets"),  # not in the table
    ("it's", "it's"),  # marks that the rules leave alone
    ("5:30", "5:30"),
    ("50%", "50%"),
    ("#1 & *2*", "#1 & *2*"),
    ("why?!", "why"),
    ("[red] {blue} <green>", "red blue green"),
    ("", ""),
    ("?", ""),
]


@pytest.mark.parametrize(("text", "expected"), NORMAL_FORMS)
def test_normal_form(text: str, expected: str) -> None:
    assert normalise_answer(text) == expected


@pytest.mark.parametrize(
    ("matches", "official", "simple"),
    [
        (0, Fraction(0), Fraction(0)),
        (1, Fraction(3, 10), Fraction(1, 3)),  # nine subsets keep the match: 9 * 1/3 / 10
        (2, Fraction(6, 10), Fraction(2, 3)),  # (2 * 1/3 + 8 * 2/3) / 10
        (3, Fraction(9, 10), Fraction(1)),  # (3 * 2/3 + 7 * 1) / 10
        (4, Fraction(1), Fraction(1)),
        (10, Fraction(1), Fraction(1)),  # ten equal answers without ids
    ],
)
def test_ten_annotators_by_hand(matches: int, official: Fraction, simple: Fraction) -> None:
    answers = ["cat"] * matches + ["dog"] * (10 - matches)
    assert vqa_accuracy("cat", answers) == float(official)
    assert vqa_accuracy("cat", answers, form="simple") == float(simple)


@pytest.mark.parametrize("form", ["official", "simple"])
def test_both_sides_are_normalised_even_when_all_annotators_agree(form: Form) -> None:
    assert vqa_accuracy("Yes.", ["yes"] * 10, form) == 1
    assert vqa_accuracy("2", ["Two"] * 10, form) == 1
    assert vqa_accuracy("yes", ["YES", "yes", "yes!", "Yes"] * 2, form) == 1


@pytest.mark.parametrize("form", ["official", "simple"])
@pytest.mark.parametrize("empty", ["", "The", "?", "a an", " \n"])
def test_an_answer_that_normalises_to_nothing_matches_nothing(empty: str, form: Form) -> None:
    assert vqa_accuracy(empty, [empty] * 10, form) == 0
    assert vqa_accuracy(empty, ["the", "a", "?"] * 3, form) == 0


ANSWERS = st.lists(st.sampled_from(["yes", "Yes", "no", "two", "2", "the", ""]) | st.text(max_size=6), min_size=1)


def by_the_plain_loop(prediction: str, answers: list[str]) -> Fraction:
    """The official definition written out: leave each annotator out once, count the others, average."""
    scores = []
    for left_out in range(len(answers)):
        others = [answer for place, answer in enumerate(answers) if place != left_out]
        matching = [answer for answer in others if normalise_answer(answer) == normalise_answer(prediction) != ""]
        scores.append(min(Fraction(1), Fraction(len(matching), 3)))
    return sum(scores, Fraction(0)) / len(scores)


@settings(deadline=None)
@given(st.sampled_from(["yes", "2", "the"]) | st.text(max_size=6), ANSWERS)
def test_official_is_the_mean_over_leave_one_out_subsets(prediction: str, answers: list[str]) -> None:
    assert vqa_accuracy(prediction, answers) == float(by_the_plain_loop(prediction, answers))


@settings(deadline=None)
@given(st.text(max_size=6), ANSWERS, st.randoms(use_true_random=False), st.sampled_from(["official", "simple"]))
def test_order_of_the_annotators_does_not_matter(prediction: str, answers: list[str], random: Any, form: Form) -> None:
    shuffled = random.sample(answers, len(answers))
    assert vqa_accuracy(prediction, shuffled, form) == vqa_accuracy(prediction, answers, form)


@settings(deadline=None)
@given(st.text(max_size=6), ANSWERS)
def test_official_is_the_stricter_form_and_both_lie_between_0_and_1(prediction: str, answers: list[str]) -> None:
    assert 0 <= vqa_accuracy(prediction, answers) <= vqa_accuracy(prediction, answers, "simple") <= 1


@settings(deadline=None)
@given(st.text())
def test_a_normal_form_is_lower_case_and_has_no_outer_or_double_space(text: str) -> None:
    normal = normalise_answer(text)
    assert normal == " ".join(normal.split())
    assert normal == normal.lower()


def test_no_reference_answers_are_an_error() -> None:
    with pytest.raises(InvalidValueError, match="at least one reference answer"):
        vqa_accuracy("yes", [])


@pytest.mark.parametrize(
    ("prediction", "answers"),
    [("yes", "yes"), ("yes", [1]), (1, ["1"]), (None, ["yes"])],
)
def test_anything_but_texts_is_an_error(prediction: Any, answers: Any) -> None:
    with pytest.raises(InvalidTypeError, match="text"):
        vqa_accuracy(prediction, answers)


def test_an_unknown_form_names_the_two_known() -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'official'\? Known: official, simple"):
        vqa_accuracy("yes", ["yes"], form="oficial")  # type: ignore[arg-type]  # the mistake under test
