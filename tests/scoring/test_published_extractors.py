import pytest

from robustlib.scoring.published_extractors import mmmu_pro_extract, vlmevalkit_extract

TEN = ("ant", "bee", "cod", "doe", "elk", "fox", "gnu", "hen", "ibis", "jay")


@pytest.mark.parametrize(
    ("response", "letter"),
    [
        ("Answer: B", "B"),
        ("(A) is tempting, but (C)", "C"),
        ("B. I am sure", "I"),  # the pronoun
        ("Option B because A is wrong", "A"),  # the last letter before a blank
        ("Answer: B. DNA", "A"),  # three letters after the mark, and "DNA" ends in "A "
        ("Answer: B. Apple", "B"),
        ("So I pick.\nAnswer: B. Ant", "I"),
        ("The animal in this picture is a fox", "F"),
    ],
)
def test_what_mmmu_pro_reads(response: str, letter: str) -> None:
    assert mmmu_pro_extract(response, TEN, seed=0) == ord(letter) - ord("A")


@pytest.mark.parametrize("response", ["**B**", "\\boxed{B}", "B) bee", "answer: b", ""])
def test_mmmu_pro_guesses_what_it_cannot_read(response: str) -> None:
    guesses = [mmmu_pro_extract(response, TEN, seed) for seed in range(200)]
    assert set(guesses) == set(range(10))
    assert guesses == [mmmu_pro_extract(response, TEN, seed) for seed in range(200)]


@pytest.mark.parametrize(
    ("response", "letter"),
    [
        ("B", "B"),
        ("(B).", "B"),
        ("The answer is **B**", "B"),
        ("b", ""),
        ("B it is, as far as one can tell from here", ""),  # not among the last four words
        ("A banana split", "A"),
        ("A or B", ""),
        ("a fox", "F"),
        ("Cannot determine the answer", ""),
        ("Failed to obtain answer via API. B", ""),
        ("Z", ""),
    ],
)
def test_what_vlmevalkit_infers(response: str, letter: str) -> None:
    assert vlmevalkit_extract(response, TEN) == (ord(letter) - ord("A") if letter else None)
