"""PNP-VQA (Tiong et al., Findings of EMNLP 2022): captions of what a question looks at, read by a language model."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from robustlib.errors import UnknownNameError
from robustlib.models.base import Answer, Explanation, Prompt
from robustlib.models.checkpoint import Checkpoint, distinct_images
from robustlib.models.decoding import Sampler, prompt_digest
from robustlib.models.gradcam import as_map
from robustlib.models.pnp_captions import keep_new, write_captions
from robustlib.models.pnp_parts import load_parts
from robustlib.models.pnp_reader import write_context
from robustlib.models.pnp_relevance import draw_patches, relevance
from robustlib.models.staged import Staged
from robustlib.models.written import answer_questions
from robustlib.seeding import generator

Mode = Literal["rank", "generate"]

_OF_EACH = ("checkpoint", "revision", "network")  # what the record tells of each part
_DELETED = str.maketrans("", "", '.!"()*#:;~')  # from questions, as in LAVIS's BlipQuestionProcessor


class Ready(NamedTuple):
    """A batch as the networks read it."""

    questions: list[str]
    """As the reader reads them."""
    matched: Tensor
    """The different images as the matcher reads them, images x 3 x height x width."""
    captioned: Tensor
    """The same as the captioner reads them."""
    places: Tensor
    """For each prompt the place of its image among these."""
    ids: Tensor
    mask: Tensor
    digests: list[str]
    """For each prompt what its draws depend on besides the seed."""


class Pnp(Staged):
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
            dtype: "float32", "bfloat16", "float16", or "auto": see `checkpoint.find_dtype`.
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

    def prepare(self, prompts: Sequence[Prompt]) -> Ready:
        """Return what the three networks read."""
        matcher = self._parts.matcher
        questions = [_prepare(prompt.text, self._numbers.question_words) for prompt in prompts]
        images, places = distinct_images(prompts, matcher.network.config.vision_config.image_size)
        ids, mask = matcher.tokens([text.strip("?") for text in questions], limit=self._numbers.question_tokens)
        ids[:, 0] = matcher.network.config.text_config.vocab_size - 1  # [ENC], the last token of BLIP's vocabulary
        shown = zip(places.tolist(), prompts, strict=True)
        return Ready(
            questions,
            matcher.pixel_values(images),
            self._parts.captioner.pixel_values(images),
            places,
            ids,
            mask,
            [prompt_digest(Prompt(images[place], prompt.text)) for place, prompt in shown],
        )

    @torch.no_grad()  # not inference_mode, whose tensors no gradient can go through
    def run(self, prompts: Sequence[Prompt], ready: Ready) -> list[Answer]:
        """Answer a batch, in order."""
        return self._read(prompts, self._contexts(ready))

    @torch.no_grad()
    def explain(self, prompts: Sequence[Prompt]) -> list[Explanation]:
        """Explain a batch, in order: by the matcher's relevance, and by the captions that were written by it."""
        if not prompts:
            return []
        ready = self.prepare(prompts)
        looked_at = self._relevance(ready)
        captions = self._captions(ready, looked_at)
        answers = self._read(prompts, self._write(ready, captions))
        vision = self._parts.matcher.network.config.vision_config
        maps = [as_map(own, vision.image_size // vision.patch_size) for own in looked_at]
        return [Explanation(*one) for one in zip(answers, maps, map(tuple, captions), strict=True)]

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

    def _contexts(self, ready: Ready) -> list[list[str]]:
        """Return for each prompt what the reader reads."""
        return self._write(ready, self._captions(ready, self._relevance(ready)))

    def _write(self, ready: Ready, captions: Sequence[Sequence[str]]) -> list[list[str]]:
        size = self._numbers.captions_per_context
        return [
            [write_context(question, own[start : start + size]) for start in range(0, max(len(own), 1), size)]
            for question, own in zip(ready.questions, captions, strict=True)
        ]

    def _read(self, prompts: Sequence[Prompt], contexts: Sequence[Sequence[str]]) -> list[Answer]:
        states, mask = self._parts.reader.read(contexts)
        candidates = [prompt.options if self._mode == "rank" else () for prompt in prompts]
        return answer_questions(self._parts.reader, prompts, candidates, states, mask)

    def _relevance(self, ready: Ready) -> Tensor:
        """Return the relevance of each patch, questions x patches."""
        matcher = self._parts.matcher
        images = _encode(matcher, ready.matched)[ready.places]
        return relevance(
            matcher.network, self._numbers.layer, images, matcher.move(ready.ids), matcher.move(ready.mask)
        )

    def _captions(self, ready: Ready, looked_at: Tensor) -> list[list[str]]:
        """Return the captions of each prompt: as many rounds as it takes until there are enough that differ."""
        numbers, states = self._numbers, _encode(self._parts.captioner, ready.captioned)
        kept: list[list[str]] = [[] for _ in ready.digests]
        for turn in range(numbers.rounds):
            short = [row for row, own in enumerate(kept) if len(own) < numbers.captions]
            if not short:
                break
            streams = [generator("pnp", self._seed, ready.digests[row], turn) for row in short]
            noise = np.stack([stream.gumbel(size=(numbers.captions, looked_at.shape[1])) for stream in streams])
            drawn = draw_patches(looked_at[short], torch.from_numpy(noise).to(looked_at.device), numbers.patches)
            seen = states[ready.places[short][:, None, None].to(drawn.device), drawn].flatten(0, 1)
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


def _encode(checkpoint: Checkpoint, pixels: Tensor) -> Tensor:
    """Return encoded images, images x (1 + patches) x hidden."""
    states: Tensor = checkpoint.network.vision_model(checkpoint.move(pixels)).last_hidden_state
    return states
