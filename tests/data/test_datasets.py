"""easy-VQA as it is published, and subsets of it that are seeded and stratified."""

from collections import Counter
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustlib.data import Dataset, list_datasets, load_dataset
from robustlib.data.easy_vqa import SHAPES
from robustlib.data.images import LazyImage
from robustlib.data.question import Question
from robustlib.data.sampling import image_places, largest_remainder, stratified
from robustlib.errors import InvalidValueError, UnknownNameError


@pytest.fixture(scope="module")
def test_split() -> Dataset:
    return load_dataset("easy_vqa", "test")


@pytest.mark.parametrize(("split", "images", "questions"), [("train", 4000, 38575), ("test", 1000, 9673)])
def test_easy_vqa_has_its_published_counts(split: str, images: int, questions: int) -> None:
    dataset = load_dataset("easy_vqa", split)
    assert len(dataset) == questions
    assert len({question.image_id for question in dataset}) == images
    assert len({question.id for question in dataset}) == questions
    assert len({answer for question in dataset for answer in question.answers}) == 13


def test_easy_vqa_questions_are_complete(test_split: Dataset) -> None:
    first = test_split.questions[0]
    assert (first.id, first.image_id, first.dataset) == ("test-000000", "test-0", "easy_vqa")
    assert (first.text, first.category, first.kind) == ("what is the red shape?", "shape", "open")
    assert first.answers == ("triangle",) * 10
    assert {(question.category, question.kind) for question in test_split} == {
        ("shape", "open"),
        ("colour", "open"),
        ("presence", "yesno"),
    }
    presence = Counter(question.answers[0] for question in test_split if question.category == "presence")
    assert set(presence) == {"yes", "no"}
    assert presence.total() == 7136  # the package's data/README.md


def test_easy_vqa_as_multiple_choice(test_split: Dataset) -> None:
    choices = load_dataset("easy_vqa_choice", "test")
    known = {answer for question in test_split for answer in question.answers}
    for question, source in zip(choices, test_split, strict=True):
        changed = {"kind", "options", "label", "dataset"}
        assert {f.name for f in fields(Question) if getattr(question, f.name) != getattr(source, f.name)} <= changed
        assert question.options[question.label] == source.answers[0]
        assert len(set(question.options)) == len(question.options)
        assert set(question.options) <= known
    kinds = {(question.category, question.kind, len(question.options)) for question in choices}
    assert kinds == {("shape", "choice", 4), ("colour", "choice", 4), ("presence", "yesno", 2)}
    assert all(set(SHAPES) < set(question.options) for question in choices if question.category == "shape")
    assert not any(set(SHAPES) & set(question.options) for question in choices if question.category == "colour")
    for category in ("shape", "colour"):
        places = Counter(question.label for question in choices if question.category == category)
        assert all(abs(places[place] / places.total() - 0.25) < 0.05 for place in range(4))


def test_the_options_of_a_question_are_its_own_in_every_sample() -> None:
    whole = {question.id: question for question in load_dataset("easy_vqa_choice", "test")}
    part = load_dataset("easy_vqa_choice", "test", fraction=0.01, seed=7)
    assert all(question == whole[question.id] for question in part)
    first = part.questions[0]
    assert (first.id, first.options) == (
        "test-000030",
        ("gray", "yellow", "brown", "red"),
    )  # pinned: sweeps depend on it


def test_questions_on_one_image_share_its_identity(test_split: Dataset) -> None:
    images: dict[str, LazyImage] = {}
    for question in test_split:
        assert question.image is not None
        assert images.setdefault(question.image_id, question.image) is question.image


def test_the_picture_is_the_packages_file(test_split: Dataset) -> None:
    pixels = test_split.questions[0].pixels()
    assert pixels is not None
    assert pixels.shape == (64, 64, 3)
    assert test_split.questions[0].pixels() is pixels


def test_loading_twice_gives_the_same(test_split: Dataset) -> None:
    again = load_dataset("easy_vqa", "test")
    assert again == test_split
    assert again.fingerprint() == test_split.fingerprint()


def test_a_fraction_is_stratified_seeded_and_in_order(test_split: Dataset) -> None:
    part = load_dataset("easy_vqa", "test", fraction=0.2, seed=42)
    assert len(part) == round(0.2 * len(test_split))
    whole, kept = (Counter(question.category for question in dataset) for dataset in (test_split, part))
    assert all(abs(kept[name] - 0.2 * whole[name]) < 1 for name in whole)
    ids = [question.id for question in part]
    assert ids == sorted(ids)
    assert part == load_dataset("easy_vqa", "test", fraction=0.2, seed=42)
    assert part != load_dataset("easy_vqa", "test", fraction=0.2, seed=43)


def test_the_default_sample_is_pinned() -> None:
    part = load_dataset("easy_vqa", "test", fraction=0.001)
    numbers = [715, 2049, 3592, 4453, 5244, 6196, 6513, 6852, 8360, 8795]
    assert [question.id for question in part] == [f"test-{number:06d}" for number in numbers]


@pytest.mark.parametrize("fraction", [0, -0.5, 1.5, float("nan"), 1e-6])
def test_a_bad_fraction_is_an_error(fraction: float) -> None:
    with pytest.raises(InvalidValueError, match="fraction"):
        load_dataset("easy_vqa", "test", fraction=fraction)


def test_unknown_names_list_near_misses() -> None:
    assert "easy_vqa" in list_datasets()
    with pytest.raises(UnknownNameError, match=r"'easyvqa'.*Did you mean 'easy_vqa'"):
        load_dataset("easyvqa", "test")
    with pytest.raises(UnknownNameError, match=r"'tests'.*Did you mean 'test'"):
        load_dataset("easy_vqa", "tests")


def example(number: int, category: str = "") -> Question:
    return Question(id=f"q{number}", image=None, image_id=f"i{number}", text="?", kind="open", category=category)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=60), st.floats(0.01, 1), st.integers(0, 9))
def test_stratified_keeps_shares_and_order(categories: list[str], fraction: float, seed: int) -> None:
    questions = [example(number, category) for number, category in enumerate(categories)]
    total = round(fraction * len(questions))
    if total == 0:
        with pytest.raises(InvalidValueError, match="leaves none"):
            stratified(questions, fraction, seed)
        return
    kept = stratified(questions, fraction, seed)
    assert len(kept) == total
    assert [question for question in questions if question in set(kept)] == list(kept)
    counts, whole = Counter(q.category for q in kept), Counter(categories)
    assert all(abs(counts[name] - total * whole[name] / len(questions)) < 1 for name in whole)


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=40), st.integers(1, 5), st.integers(0, 9))
def test_images_are_drawn_whole_and_in_order(images: list[str], count: int, seed: int) -> None:
    places = image_places(images, count, seed)
    kept = {images[place] for place in places}
    assert len(kept) == min(count, len(set(images)))
    assert places == [place for place, image in enumerate(images) if image in kept]
    renamed = [f"image {image}" for image in images]
    assert image_places(renamed, count, seed) == places == image_places(images, count, seed)


def test_the_seed_decides_which_images_are_drawn() -> None:
    images = [str(number // 3) for number in range(300)]
    assert len({tuple(image_places(images, 2, seed)) for seed in range(20)}) > 15


def test_the_largest_remainder_wins_and_ties_go_to_the_earlier() -> None:
    assert largest_remainder({"a": 47, "b": 16, "c": 158, "d": 12, "e": 61}, 10) == {
        "a": 2,
        "b": 1,
        "c": 5,
        "d": 0,
        "e": 2,
    }
    assert largest_remainder({"a": 1, "b": 1, "c": 1}, 2) == {"a": 1, "b": 1, "c": 0}


CHANGES = {
    "id": "other",
    "text": "what?",
    "options": ("a", "b"),
    "answers": ("x",),
    "image_id": "i2",
    "kind": "yesno",
    "category": "shape",
    "meta": {"hint": 1},
    "image": LazyImage(b"other bytes"),
    "more_images": (LazyImage(b"some bytes"),),
}


@pytest.mark.parametrize("field", CHANGES)
def test_the_fingerprint_sees_every_change(field: str) -> None:
    question = replace(example(1), image=LazyImage(b"some bytes"))
    changed = replace(question, **{field: CHANGES[field]})  # type: ignore[arg-type]  # one field of each type
    assert Dataset("d", "test", (question,)).fingerprint() != Dataset("d", "test", (changed,)).fingerprint()


def test_the_fingerprint_sees_order() -> None:
    one, two = example(1), example(2)
    assert Dataset("d", "test", (one, two)).fingerprint() != Dataset("d", "test", (two, one)).fingerprint()
