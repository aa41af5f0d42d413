"""PNP-VQA (Tiong et al., Findings of EMNLP 2022): captions of what a question looks at, read by a language model."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from robustlib.data.images import Pixels
from robustlib.errors import UnknownNameError
from robustlib.models.base import Answer, Prompt
from robustlib.models.checkpoint import Checkpoint, distinct_images
from robustlib.models.decoding import Sampler, prompt_digest
from robustlib.models.pnp_captions import keep_new, write_captions
from robustlib.models.pnp_parts import load_parts
from robustlib.models.pnp_reader import write_context
from robustlib.models.pnp_relevance import draw_patches, relevance
from robustlib.models.written import answer_questions
from robustlib.seeding import generator

Mode = Literal["rank", "generate"]

_OF_EACH = ("checkpoint", "revision", "network")  # what the record tells of each part
_DELETED = str.maketrans("", "", '.!"()*#:;~')  # from questions, as in LAVIS's BlipQuestionProcessor


class Pnp:
    """Three networks that were never trained together: a matcher, a captioner and a reader.

    * The matcher tells which patches speak for the question; captions are written of patches drawn by that relevance;
      the reader answers from the captions alone.
    * What is drawn depends on the seed, the question and the first image: not on options, and not on the batch.
    * Mode "rank": options are ranked by their log-likelihood under the reader (`written.py`); they are not shown to it.
      Without options, and in the mode "generate", which is the published one, the answer is written greedily.
    * Without an image, the captions are those of a grey square (`checkpoint.GREY`).
    """

    def __init__(
        self,
        name: str,
        source: str,
        *,
        revision: str | None = None,
        matcher: str | None = None,
        captioner: str | None = None,
        dtype: str = "float32",
        seed: int = 42,
        mode: Mode = "rank",
        numbers: dict[str, Any] | None = None,
    ) -> None:
        """Load three checkpoints.

        Args:
            name: what the record calls the model.
            source: a folder or a repository of the hub, either of all three, with a config.json whose `model_type` is
                "pnp" and sub-folders "matcher", "captioner" and "reader"; or of the reader. "base", "large" and "3b"
                are the readers of the paper.
            revision: the source's branch, tag or commit.
            matcher: a BlipForImageTextRetrieval, for a source of the reader: a folder, a repository, or
                "REPOSITORY@REVISION"; None for `pnp_parts.MATCHER`, or for the source's own.
            captioner: a BlipForConditionalGeneration, likewise; None for `pnp_parts.CAPTIONER`, or the source's own.
            dtype: "float32", "bfloat16" or "float16".
            seed: of all that is drawn.
            mode: "rank" or "generate".
            numbers: those of `pnp_numbers.Numbers` that are to differ from the published, or from those of the source.
        """
        if mode not in get_args(Mode):
            raise UnknownNameError("mode", mode, get_args(Mode))
        self.name = name
        self._seed, self._mode = seed, mode
        self._parts = load_parts(source, revision, matcher, captioner, dtype, numbers or {})
        self._numbers = self._parts.numbers

    @torch.no_grad()  # not inference_mode, whose tensors no gradient can go through
    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        """Answer a batch, in order."""
        if not prompts:
            return []
        states, mask = self._parts.reader.read(self._contexts(prompts))
        candidates = [prompt.options if self._mode == "rank" else () for prompt in prompts]
        return answer_questions(self._parts.reader, prompts, candidates, states, mask)

    def describe(self) -> dict[str, str | int | float]:
        """Return what could change an answer; where the three networks differ, of one after the other."""
        records = [part.describe() for part in (self._parts.matcher, self._parts.captioner, self._parts.reader)]
        fingerprints = "".join(str(record["fingerprint"]) for record in records)
        numbers = ", ".join(f"{name} {value!r}" for name, value in vars(self._numbers).items())
        written = "likelihood over the options, else greedy" if self._mode == "rank" else "greedy"
        return {
            **records[0],
            **{key: " + ".join(dict.fromkeys(str(record[key]) for record in records)) for key in _OF_EACH},
            "fingerprint": sha256(fingerprints.encode()).hexdigest(),
            "parameters": sum(int(record["parameters"]) for record in records),
            "decoding": f"{written}; captions drawn with seed {self._seed}; {numbers}",
        }

    def _contexts(self, prompts: Sequence[Prompt]) -> list[list[str]]:
        """Return for each prompt what the reader reads."""
        questions = [_prepare(prompt.text, self._numbers.question_words) for prompt in prompts]
        images, places = distinct_images(prompts, self._parts.matcher.network.config.vision_config.image_size)
        looked_at = self._relevance(images, places, questions)
        digests = [
            prompt_digest(Prompt(images[place], prompt.text)) for place, prompt in zip(places, prompts, strict=True)
        ]
        captions = self._captions(images, places, looked_at, digests)
        size = self._numbers.captions_per_context
        return [
            [write_context(question, own[start : start + size]) for start in range(0, max(len(own), 1), size)]
            for question, own in zip(questions, captions, strict=True)
        ]

    def _relevance(self, images: Sequence[Pixels], places: Tensor, questions: Sequence[str]) -> Tensor:
        """Return the relevance of each patch, questions x patches."""
        texts = [question.strip("?") for question in questions]
        ids, mask = self._parts.matcher.tokens(texts, limit=self._numbers.question_tokens)
        network = self._parts.matcher.network
        ids[:, 0] = network.config.text_config.vocab_size - 1  # [ENC], the last token of BLIP's vocabulary
        return relevance(network, self._numbers.layer, _encode(self._parts.matcher, images)[places], ids, mask)

    def _captions(
        self, images: Sequence[Pixels], places: Tensor, looked_at: Tensor, digests: Sequence[str]
    ) -> list[list[str]]:
        """Return the captions of each prompt: as many rounds as it takes until there are enough that differ."""
        numbers, states = self._numbers, _encode(self._parts.captioner, images)
        kept: list[list[str]] = [[] for _ in digests]
        for turn in range(numbers.rounds):
            short = [row for row, own in enumerate(kept) if len(own) < numbers.captions]
            if not short:
                break
            streams = [generator("pnp", self._seed, digests[row], turn) for row in short]
            noise = np.stack([stream.gumbel(size=(numbers.captions, looked_at.shape[1])) for stream in streams])
            drawn = draw_patches(looked_at[short], torch.from_numpy(noise).to(looked_at.device), numbers.patches)
            seen = states[places[short][:, None, None], drawn].flatten(0, 1)
            captions = write_captions(
                self._parts.captioner.network,
                self._parts.captioner.tokenizer,
                seen,
                numbers.prompt,
                Sampler(streams, numbers.top_k, numbers.top_p, rows=numbers.captions),
                (numbers.min_length, numbers.max_length),
            )
            for place, row in enumerate(short):
                keep_new(kept[row], captions[place * numbers.captions :][: numbers.captions], numbers.captions)
        return kept


def _prepare(question: str, words: int) -> str:
    """Return a question as LAVIS prepares it: in lower case, without most marks, cut after so many words."""
    return " ".join(question.lower().translate(_DELETED).split()[:words])


def _encode(checkpoint: Checkpoint, images: Sequence[Pixels]) -> Tensor:
    """Return encoded images, images x (1 + patches) x hidden."""
    pixels = torch.cat([checkpoint.pixel_values(image) for image in images])
    states: Tensor = checkpoint.network.vision_model(pixels).last_hidden_state
    return states
