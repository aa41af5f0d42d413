"""Answering by choosing the best of some candidates."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from robustlib.models.base import Answer, Prompt


def best_option(options: Sequence[str], scores: Tensor) -> Answer:
    """Return the option with the highest score.

    Args:
        options: the prompt's options.
        scores: one logit per option.

    Returns:
        The answer with its index, all logits, and its softmax probability among the options. The first of equals wins.
    """
    index = int(scores.argmax())
    return Answer(options[index], "ok", index, tuple(scores.tolist()), float(scores.softmax(0)[index]))


def best_answer(vocabulary: Sequence[str], scores: Tensor) -> Answer:
    """Return the answer with the highest score among a model's own; its confidence is the softmax over all of them."""
    index = int(scores.argmax())
    return Answer(vocabulary[index], confidence=float(scores.softmax(0)[index]))


class Vocabulary:
    """The closed list of answers that a classifier chooses from.

    * Options are ranked by their logits in the list, case aside. If any option is not in it, the status is
      "no_answer": to rank only the known ones would give away the answer where only it is known.
    * Without options, the answer is the best of the list with its softmax probability.
    """

    def __init__(self, labels: Mapping[int, str]) -> None:
        """Take the checkpoint's `id2label`, whose keys count from 0."""
        self.answers = [labels[label] for label in range(len(labels))]
        self._label_of = {_key(answer): label for label, answer in enumerate(self.answers)}

    def label_of(self, answer: str) -> int:
        """Return the place of an answer in the list."""
        return self._label_of[_key(answer)]

    def choose(self, prompt: Prompt, logits: Tensor) -> Answer:
        """Answer a prompt, given one logit per answer of the list."""
        if not prompt.options:
            return best_answer(self.answers, logits)
        unknown = [option for option in prompt.options if _key(option) not in self._label_of]
        if unknown:
            return Answer("", "no_answer", reason=f"options outside the answer vocabulary: {', '.join(unknown)}")
        return best_option(prompt.options, logits[[self._label_of[_key(option)] for option in prompt.options]])


def _key(answer: str) -> str:
    return answer.strip().lower()
