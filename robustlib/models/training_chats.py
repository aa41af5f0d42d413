"""easy-VQA as chats: each question asked openly, and as a choice among lettered options; pictures with captions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import BertPreTokenizer
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from robustlib.data.question import Question
from robustlib.models.base import Prompt
from robustlib.models.prompts import DIRECT_CHOICE, DIRECT_OPEN, LETTERS, write_prompt
from robustlib.models.training_captions import CAPTIONS, to_caption
from robustlib.models.training_data import UNKNOWN_SHARE, TrainingSet, answer_list, move, padded_tokens

END = "<end_of_utterance>"
IMAGE = "<image>"
IMAGE_EDGE = "<fake_token_around_image>"
WHOLE_IMAGE = "<global-img>"
SPECIAL = ("[PAD]", "[UNK]", END, IMAGE, IMAGE_EDGE, WHOLE_IMAGE)
"""The control tokens; all but the first two are Idefics3's."""
CHOICE = " choice"
"""What a category's name ends in where its questions are asked as choices."""
OPTION_COUNTS = (4, 4, 4, 2, 3, 5, 6)
"""How many options a choice is offered: each as often as it stands here."""
ODD_SHARE = 0.3
"""Share of the choices whose wrong options are of any category, rather than of the answer's own as far as it goes."""
BLIND_SHARE = 0.02
"""Share of the batches without pictures, so that a question alone is no shock in testing."""


@dataclass(frozen=True)
class ChatBatch:
    """Some questions with their answers, as text, ready for a network."""

    pixels: Tensor
    """uint8, images x 3 x height x width: each image of the batch once; none at all in a blind batch."""
    places: Tensor
    """For each question the index of its image."""
    ids: Tensor
    """questions x tokens: question, END, answer, END, padded with 0; words hidden as [UNK]."""
    labels: Tensor
    """The same shape: the answer's own tokens and its END; -100 everywhere else."""


class Chats:
    """Questions as chats, by category: "shape" also as "shape choice", with other options each time, and so on.

    In the category `CAPTIONS`, nothing is said to a picture, and the answer is its caption.
    """

    def __init__(self, questions: Sequence[Question], tokenizer: Any) -> None:
        choices = [replace(question, category=question.category + CHOICE) for question in questions]
        self._items = [*questions, *choices, *to_caption(questions, "")]
        self._tokenizer = tokenizer
        self._alike = {
            category: answer_list([item for item in questions if item.category == category])
            for category in {item.category for item in questions}
        }
        self._related = {
            kind: answer_list([item for item in questions if item.kind == kind])
            for kind in {item.kind for item in questions}
        }
        self._set = TrainingSet(self._items, tokenizer, answer_list(self._items), by_image=True)
        self._end = tokenizer.convert_tokens_to_ids(END)

    def count(self, categories: Sequence[str]) -> int:
        """Return the number of questions of these categories."""
        return self._set.count(categories)

    def order(self, categories: Sequence[str], draw: torch.Generator) -> Tensor:
        """Return the questions of these categories in a random order, those about one image together."""
        return self._set.order(categories, draw)

    def batches(self, order: Tensor, size: int, draw: torch.Generator) -> Iterator[ChatBatch]:
        """Cut an order into batches of at most `size` questions, with pictures moved and some words hidden."""
        for chosen in torch.split(order, size):
            images, places = torch.unique(self._set.images[chosen], return_inverse=True)
            pixels = move(self._set.pixels[images], self._set.room[images], draw)
            ids = padded_tokens(self._tokenizer, [self._chat(self._items[item], draw) for item in chosen.tolist()])
            is_end = ids.eq(self._end)
            is_answer = (is_end.cumsum(1) - is_end.long() > 0) & (ids != 0)
            is_word = (ids >= len(SPECIAL)) & (ids < self._tokenizer.vocab_size) & ~is_answer
            hidden = (torch.rand(ids.shape, generator=draw) < UNKNOWN_SHARE) & is_word
            blind = bool(torch.rand(1, generator=draw) < BLIND_SHARE)
            yield ChatBatch(
                pixels=pixels[:0] if blind else pixels,
                places=places,
                ids=ids.masked_fill(hidden, SPECIAL.index("[UNK]")),
                labels=ids.masked_fill(~is_answer, -100),
            )

    def _chat(self, item: Question, draw: torch.Generator) -> str:
        if item.category == CAPTIONS:
            return f"{END}{item.answers[0]}{END}"
        options = self._offer(item, draw) if item.category.endswith(CHOICE) else ()
        answer = LETTERS[options.index(item.answers[0])] if options else item.answers[0]
        return f"{write_prompt(Prompt(None, item.text, options), 'direct')}{END}{answer}{END}"

    def _offer(self, item: Question, draw: torch.Generator) -> tuple[str, ...]:
        """Return the right answer among wrong ones in random order; a yes/no question has just the other one."""
        right = item.answers[0]
        alike = [name for name in self._alike[item.category.removesuffix(CHOICE)] if name != right]
        unlike = [name for name in self._related[item.kind] if name not in (right, *alike)]
        count = OPTION_COUNTS[int(torch.randint(len(OPTION_COUNTS), (1,), generator=draw))]
        if torch.rand(1, generator=draw) < ODD_SHARE:
            alike, unlike = alike + unlike, []
        wrong = [*_shuffled(alike, draw), *_shuffled(unlike, draw)]
        return tuple(_shuffled([right, *wrong[: count - 1]], draw))


def chat_tokenizer(questions: Sequence[Question]) -> Any:
    """Return a tokenizer of whole words: those of the questions, answers and instructions; any other word is [UNK].

    Case makes no difference, but for the option letters that training shows, which are no words: "A" is not "a".
    """
    texts = {*answer_list(questions), *(question.text for question in questions), DIRECT_CHOICE, DIRECT_OPEN}
    split = BertPreTokenizer()
    words = sorted({word for text in texts for word, _ in split.pre_tokenize_str(text.lower())})
    vocabulary = {token: number for number, token in enumerate((*SPECIAL, *words))}
    backend = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    backend.normalizer = Lowercase()
    backend.pre_tokenizer = split
    fast: Any = PreTrainedTokenizerFast
    tokenizer = fast(
        tokenizer_object=backend,
        pad_token="[PAD]",
        unk_token="[UNK]",
        eos_token=END,
        additional_special_tokens=[IMAGE, IMAGE_EDGE, WHOLE_IMAGE],
    )
    letters = LETTERS[: max(OPTION_COUNTS)]
    tokenizer.add_tokens([AddedToken(letter, single_word=True, normalized=False) for letter in letters])
    return tokenizer


def _shuffled(names: Sequence[str], draw: torch.Generator) -> list[str]:
    return [names[place] for place in torch.randperm(len(names), generator=draw).tolist()]
