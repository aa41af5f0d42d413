"""easy-VQA as tensors, and pictures moved about so that few of them teach much."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import BertTokenizer

from robustlib.data.question import Question
from robustlib.errors import InvalidValueError

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[DEC]")
UNKNOWN_SHARE = 0.05
"""Share of the words that are hidden as [UNK] in training, so that an unknown word is no shock in testing."""


@dataclass(frozen=True)
class Batch:
    """Some questions with their answers, ready for a network."""

    pixels: Tensor
    """uint8, images x 3 x height x width: each image of the batch once."""
    places: Tensor
    """For each question the index of its image."""
    ids: Tensor
    """questions x tokens, padded with 0."""
    labels: Tensor
    """For each question the index of its answer."""

    @property
    def mask(self) -> Tensor:
        """1 for a token, 0 for padding, questions x tokens."""
        return (self.ids != 0).long()


def word_tokenizer(questions: Sequence[Question]) -> BertTokenizer:
    """Return a tokenizer of whole words: those of the questions and of their answers; any other word is [UNK]."""
    tokenizer = BertTokenizer(vocab={token: number for number, token in enumerate(SPECIAL)})
    split = tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str
    texts = {text for question in questions for text in (question.text.lower(), *question.answers)}
    words = sorted({word for text in texts for word, _ in split(text)})
    return BertTokenizer(
        vocab={token: number for number, token in enumerate((*SPECIAL, *words))}, additional_special_tokens=["[DEC]"]
    )


def answer_list(questions: Sequence[Question]) -> list[str]:
    """Return the different answers in alphabetical order; easy-VQA has one right answer a question."""
    return sorted({question.answers[0] for question in questions})


class TrainingSet:
    """Questions as tensors, with each image and each text stored once."""

    def __init__(
        self, questions: Sequence[Question], tokenizer: Any, answers: Sequence[str], *, by_image: bool
    ) -> None:
        """Take in the questions.

        Args:
            questions: with images of one size.
            tokenizer: of the questions' words.
            answers: what the labels count.
            by_image: whether questions about one image are shown together: cheaper where they share its encoding.
        """
        image_of = {question.image_id: question for question in questions}
        text_of = sorted({question.text for question in questions})
        image_ids = list(image_of)
        self.pixels = _stack([image_of[image_id] for image_id in image_ids])
        self.room = room_to_move(self.pixels)
        self.tokens = padded_tokens(tokenizer, text_of)
        self.images = indices([question.image_id for question in questions], image_ids)
        self.texts = indices([question.text for question in questions], text_of)
        self.labels = indices([question.answers[0] for question in questions], list(answers))
        self.categories = [question.category for question in questions]
        self._by_image = by_image

    def count(self, categories: Sequence[str]) -> int:
        """Return the number of questions of these categories."""
        return sum(name in categories for name in self.categories)

    def order(self, categories: Sequence[str], draw: torch.Generator) -> Tensor:
        """Return the questions of these categories in a random order, those about one image together if `by_image`."""
        chosen = torch.tensor([place for place, name in enumerate(self.categories) if name in categories])
        shuffled = chosen[torch.randperm(len(chosen), generator=draw)]
        if not self._by_image:
            return shuffled
        rank = torch.randperm(len(self.pixels), generator=draw)
        return shuffled[rank[self.images[shuffled]].argsort(stable=True)]

    def batches(self, order: Tensor, size: int, draw: torch.Generator) -> Iterator[Batch]:
        """Cut an order into batches of at most `size` questions, with pictures moved and some words hidden."""
        for chosen in torch.split(order, size):
            images, places = torch.unique(self.images[chosen], return_inverse=True)
            ids = self.tokens[self.texts[chosen]]
            ids = ids[:, : int((ids != 0).sum(1).max())]
            hidden = (torch.rand(ids.shape, generator=draw) < UNKNOWN_SHARE) & (ids >= len(SPECIAL))
            pixels = move(self.pixels[images], self.room[images], draw)
            yield Batch(pixels, places, ids.masked_fill(hidden, SPECIAL.index("[UNK]")), self.labels[chosen])


def padded_tokens(tokenizer: Any, texts: Sequence[str]) -> Tensor:
    """Return the token ids of texts, padded with 0."""
    rows = tokenizer(list(texts), padding=False)["input_ids"]
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True)


def normalise(pixels: Tensor, image_processor: Any) -> Tensor:
    """Return uint8 pixels of the processor's own size as the floats that it would make of them."""
    mean, deviation = (
        torch.tensor(values)[:, None, None] for values in (image_processor.image_mean, image_processor.image_std)
    )
    return (pixels / 255 - mean) / deviation


def room_to_move(pixels: Tensor) -> Tensor:
    """Return how far the object of each picture is from its four edges: images x (top, bottom, left, right).

    Args:
        pixels: images x 3 x height x width, each one object on a ground of one colour, the commonest in the picture.
    """
    ground = pixels.flatten(2).median(dim=2).values
    is_object = (pixels != ground[:, :, None, None]).any(1)
    rows, columns = is_object.any(2).int(), is_object.any(1).int()
    edges = (rows, rows.flip(1), columns, columns.flip(1))
    return torch.stack([edge.argmax(1) for edge in edges], dim=1)


def move(pixels: Tensor, room: Tensor, draw: torch.Generator) -> Tensor:
    """Put each object somewhere else in its picture, mirrored or turned by 90 degrees: its name stays the same.

    On a ground of one colour a cyclic shift that keeps the object inside is a true translation.
    """
    count, side = len(pixels), pixels.shape[-1]
    before, after = room[:, 0::2], room[:, 1::2]
    shifts = (torch.rand(count, 2, generator=draw) * (before + after + 1)).long() - before
    places = (torch.arange(side) - shifts[..., None]) % side
    coins = torch.rand(count, 3, 1, generator=draw) < 0.5
    rows, columns = torch.where(coins[:, :2], places.flip(2), places).unbind(1)
    moved = pixels[torch.arange(count)[:, None, None], :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
    return torch.where(coins[:, 2:, None], moved.mT, moved)


def _stack(questions: Sequence[Question]) -> Tensor:
    pictures = [question.pixels() for question in questions]
    if any(picture is None for picture in pictures):
        raise InvalidValueError("Every question of a training set needs an image.")
    return torch.from_numpy(np.stack([picture for picture in pictures if picture is not None])).permute(0, 3, 1, 2)


def indices(values: Sequence[str], known: Sequence[str]) -> Tensor:
    """Return the index of each value among those known."""
    place_of = {value: place for place, value in enumerate(known)}
    return torch.tensor([place_of[value] for value in values])
