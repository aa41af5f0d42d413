"""What easy-VQA's training questions and answers tell of its pictures, as captions, statements and texts to read."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from transformers import T5Tokenizer

from robustlib.data.question import Question
from robustlib.models.pnp_reader import write_context
from robustlib.models.training_data import UNKNOWN_SHARE, answer_list, indices, padded_tokens

KINDS = ("colour", "shape")
"""The categories whose answers are names of what is seen, in the order of a caption's words."""
CAPTIONS = "captions"
"""The category of what is not a question of the data set but a caption made of one."""
MARKS = "?."
"""The marks that end a question or a caption: pieces of their own."""
OTHER_SHARE = 0.3
"""Share of the questions whose reader is also given another picture's caption, as a captioner in doubt would write."""


def write_captions(questions: Sequence[Question]) -> dict[str, str]:
    """Return a caption such as "a blue circle" for each image whose questions and answers tell both colour and shape.

    Seen is what an answer names, and what a question names and the answer affirms: "what is the blue shape?", "is there
    a circle?" with "yes", "is no circle present?" with "no".
    """
    told: dict[str, set[str]] = defaultdict(set)
    for question in questions:
        words = set(question.text.lower().strip("?").split())
        negated = not words.isdisjoint({"no", "not"})
        if question.category in KINDS or (question.answers[0] == "yes") != negated:
            told[question.image_id] |= words | {question.answers[0]}
    names = [answer_list([question for question in questions if question.category == kind]) for kind in KINDS]
    seen = {image: [words.intersection(own) for own in names] for image, words in told.items()}
    return {
        image: " ".join(["a", *(name for (name,) in own)])
        for image, own in seen.items()
        if all(len(found) == 1 for found in own)
    }


def to_caption(questions: Sequence[Question], prompt: str) -> list[Question]:
    """Return one question an image: the prompt, with the caption for an answer."""
    captions = write_captions(questions)
    images = {question.image_id: question for question in questions if question.image_id in captions}
    return [
        replace(question, text=prompt, answers=(captions[image],), category=CAPTIONS)
        for image, question in images.items()
    ]


def to_match(questions: Sequence[Question]) -> list[Question]:
    """Return texts to match with images, each with the image's caption for an answer.

    They are the questions, without their question marks, and two captions an image: its own and another's.
    """
    captions = write_captions(questions)
    asked = [
        replace(question, text=question.text.strip("?"), answers=(captions[question.image_id],))
        for question in questions
        if question.image_id in captions
    ]
    images = to_caption(questions, "")
    others = [*images[1:], *images[:1]]
    own = [replace(image, text=image.answers[0]) for image in images]
    wrong = [replace(image, text=other.answers[0]) for image, other in zip(images, others, strict=True)]
    return [*asked, *own, *wrong]


@dataclass(frozen=True)
class Reading:
    """Questions with captions, as a reader gets them."""

    ids: Tensor
    """questions x contexts x tokens, padded with 0."""
    labels: Tensor
    """For each question the index of its answer."""


class Readings:
    """Questions as text, each with its image's caption and perhaps another's, in contexts of one caption."""

    def __init__(self, questions: Sequence[Question], tokenizer: T5Tokenizer, answers: Sequence[str]) -> None:
        captions = write_captions(questions)
        told = [question for question in questions if question.image_id in captions]
        texts, known = sorted({question.text for question in told}), sorted(set(captions.values()))
        ids = padded_tokens(tokenizer, [write_context(text, [caption]) for text in texts for caption in known])
        self._contexts = ids.view(len(texts), len(known), -1)
        self._texts = indices([question.text for question in told], texts)
        self._captions = indices([captions[question.image_id] for question in told], known)
        self._labels = indices([question.answers[0] for question in told], answers)
        self._categories = [question.category for question in told]
        self._unknown = tokenizer.unk_token_id

    def count(self, categories: Sequence[str]) -> int:
        """Return the number of questions of these categories."""
        return sum(name in categories for name in self._categories)

    def order(self, categories: Sequence[str], draw: torch.Generator) -> Tensor:
        """Return the questions of these categories in a random order."""
        chosen = torch.tensor([place for place, name in enumerate(self._categories) if name in categories])
        return chosen[torch.randperm(len(chosen), generator=draw)]

    def batches(self, order: Tensor, size: int, draw: torch.Generator) -> Iterator[Reading]:
        """Cut an order into batches of at most `size` questions, with some words hidden."""
        for chosen in torch.split(order, size):
            own = self._captions[chosen]
            strange = torch.rand(len(own), generator=draw) < OTHER_SHARE
            other = torch.randint(self._contexts.shape[1], own.shape, generator=draw)
            captions = torch.stack([own, torch.where(strange, other, own)], dim=1)
            ids = self._contexts[self._texts[chosen][:, None], captions]
            hidden = (torch.rand(ids.shape, generator=draw) < UNKNOWN_SHARE) & (ids > self._unknown)
            yield Reading(ids.masked_fill(hidden, self._unknown), self._labels[chosen])


def piece_tokenizer(questions: Sequence[Question]) -> T5Tokenizer:
    """Return a tokenizer whose pieces are the words of these questions, their answers and their captions."""
    captions = sorted(set(write_captions(questions).values()))
    texts = [write_context(question.text, captions) for question in questions]
    texts += [question.answers[0] for question in questions]
    words = {word for text in texts for word in text.split()}
    pieces = sorted(
        {mark for word in words for mark in word if mark in MARKS} | {f"\u2581{word.strip(MARKS)}" for word in words}
    )
    special = [(token, 0.0) for token in ("<pad>", "</s>", "<unk>")]
    return T5Tokenizer(vocab=[*special, *((piece, -1.0) for piece in pieces)], extra_ids=0)
