"""The language prior: what can be answered without looking."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from math import log

from robustlib.data import Dataset, Question, load_dataset
from robustlib.errors import InvalidValueError
from robustlib.models.base import Answer, Prompt

_WORD = re.compile(r"\w+")


class Prior:
    """Gives the answer that training questions of the same beginning most often had.

    The pattern of a question is its longest run of first words, case and punctuation aside, with which a training
    question began; if its first word is new, all training questions count.

    * An open question gets the pattern's most frequent answer (of equals the one met first), with its share as
      confidence.
    * Options are scored by log(count + 1), normalised to log-probabilities, under the longest pattern that has had any
      of them for an answer; the first of equals wins. If none has ever been one, the status is "no_answer": to guess is
      not to know.
    """

    def __init__(self, name: str, source: str | Dataset) -> None:
        """Count answers: every reference answer once, and the right option of a question with options.

        Args:
            name: what the record calls it.
            source: the training questions, or the name of the data set whose split "train" holds them.

        Raises:
            InvalidValueError: there are no training questions with answers.
        """
        self.name = name
        self._training = load_dataset(source, "train") if isinstance(source, str) else source
        self._counts: dict[tuple[str, ...], Counter[str]] = {}
        for question in self._training:
            for pattern in _patterns(question.text):
                self._counts.setdefault(pattern, Counter()).update(_right_answers(question))
        if not self._counts or not self._counts[()]:
            raise InvalidValueError(f"The data set {self._training.name!r} has no answers to learn a prior from.")

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        """Answer a batch, in order; the images are not looked at."""
        return [self._rank(prompt) if prompt.options else self._recall(prompt) for prompt in prompts]

    def describe(self) -> dict[str, str | int | float]:
        """Return what could change an answer."""
        return {
            "checkpoint": f"{self._training.name}/{self._training.split}",
            "revision": "local",
            "fingerprint": self._fingerprint,
            "network": "none",
            "processor": "none",
            "dtype": "int64",
            "parameters": sum(map(len, self._counts.values())),
            "prompt": "question",
            "decoding": "most frequent training answer under the longest known beginning",
        }

    @cached_property
    def _fingerprint(self) -> str:
        """SHA-256 of the counts, in the order that decides between equals."""
        table = [(pattern, list(counts.items())) for pattern, counts in self._counts.items()]
        return sha256(json.dumps(table).encode()).hexdigest()

    def _recall(self, prompt: Prompt) -> Answer:
        counts = next(self._counts[pattern] for pattern in _patterns(prompt.text)[::-1] if self._counts.get(pattern))
        [(text, count)] = counts.most_common(1)
        return Answer(text, confidence=count / counts.total())

    def _rank(self, prompt: Prompt) -> Answer:
        options = [_plain(option) for option in prompt.options]
        for pattern in _patterns(prompt.text)[::-1]:
            counts = self._counts.get(pattern, Counter())
            own = [counts[option] for option in options]
            if any(own):
                return _best(prompt.options, own)
        return Answer("", "no_answer", reason="No option was the answer to a training question.")


def _best(options: Sequence[str], counts: Sequence[int]) -> Answer:
    total = sum(counts) + len(counts)
    index = max(range(len(counts)), key=counts.__getitem__)
    logits = tuple(log((count + 1) / total) for count in counts)
    return Answer(options[index], "ok", index, logits, (counts[index] + 1) / total)


def _patterns(text: str) -> list[tuple[str, ...]]:
    """Return all beginnings of a text, from the empty one to the whole."""
    words = _WORD.findall(text.lower())
    return [tuple(words[:length]) for length in range(len(words) + 1)]


def _right_answers(question: Question) -> list[str]:
    answers = [question.options[question.label]] if question.label >= 0 else question.answers
    return [_plain(answer) for answer in answers]


def _plain(answer: str) -> str:
    return answer.strip().lower()
