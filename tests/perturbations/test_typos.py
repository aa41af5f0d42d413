"""Slips on the keyboard."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustlib.data.question import Question
from robustlib.errors import InvalidValueError
from robustlib.perturbations import perturb
from robustlib.perturbations.typos import ADJACENT, RATES, type_text


def test_neighbours_are_the_keys_that_touch() -> None:
    assert ADJACENT["a"] == "qswz"
    assert ADJACENT["g"] == "bfhtvy"
    assert ADJACENT["p"] == "lo"
    for key, neighbours in ADJACENT.items():
        assert all(key in ADJACENT[other] for other in neighbours)


@given(text=st.text(), seed=st.integers(0, 9))
def test_rate_zero_types_what_was_meant(text: str, seed: int) -> None:
    assert type_text(text, 0, np.random.default_rng(seed)) == text


@given(text=st.text(alphabet="0123456789 ?!.äß漢", max_size=20), seed=st.integers(0, 9))
def test_only_letters_of_the_keyboard_are_at_risk(text: str, seed: int) -> None:
    assert type_text(text, 1, np.random.default_rng(seed)) == text


@given(letter=st.sampled_from("aGzP"), seed=st.integers(0, 200))
def test_a_slip_is_one_of_the_five(letter: str, seed: int) -> None:
    typed = type_text(f"{letter}-", 1, np.random.default_rng(seed))
    near = ADJACENT[letter.lower()]
    near = near.upper() if letter.isupper() else near
    inserted = {f"{letter}{other}-" for other in near}
    replaced = {f"{other}-" for other in near}
    assert typed in inserted | replaced | {f"{letter}{letter}-", "-", f"-{letter}"}


def test_all_slips_are_about_as_likely() -> None:
    typed = [type_text("a-", 1, np.random.default_rng(seed)) for seed in range(2000)]
    lengths = np.bincount([len(text) for text in typed], minlength=4)  # removed, replaced or exchanged, longer
    np.testing.assert_allclose(lengths[1:] / 2000, [1 / 5, 2 / 5, 2 / 5], atol=0.04)


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5])
def test_slips_come_at_their_rate(rate: float) -> None:
    typed = [type_text("g.", rate, np.random.default_rng(seed)) for seed in range(2000)]
    assert sum(text != "g." for text in typed) / 2000 == pytest.approx(rate, abs=0.03)


def test_severities_share_their_slips() -> None:
    text = "how many elephants stand around the fountain in the middle of the square"
    variants = perturb([Question("q", None, "i", text, "open")], "typos", seed=2)
    assert [variant.severity for variant in variants] == [1, 2, 3, 4, 5]
    words = [variant.question.text for variant in variants]
    assert len(set(words)) > 1
    harmed = [sum(a != b for a, b in zip(typed.split(), text.split(), strict=False)) for typed in words]
    assert harmed == sorted(harmed)


def test_a_question_without_letters_has_no_typos() -> None:
    assert perturb([Question("q", None, "i", "1 + 1 = ?", "open")], "typos") == ()
    assert len(perturb([Question("q", None, "i", "a?", "open")], "typos")) == len(RATES)


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_a_rate_is_a_share(rate: float) -> None:
    with pytest.raises(InvalidValueError, match=r"rate must lie in \[0, 1\]"):
        type_text("a", rate, np.random.default_rng(0))
