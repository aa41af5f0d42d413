"""PNP-VQA (Tiong et al., Findings of EMNLP 2022): captions of what a question looks at, read by a language model."""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor
from transformers import BlipForConditionalGeneration, BlipForImageTextRetrieval
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

from robustlib.data.images import Pixels
from robustlib.errors import RobustlibError, UnknownNameError
from robustlib.models.base import Answer, Prompt
from robustlib.models.checkpoint import Checkpoint, distinct_images, read_config
from robustlib.models.decoding import Sampler, prompt_digest
from robustlib.models.pnp_captions import keep_new, write_captions
from robustlib.models.pnp_numbers import read_numbers
from robustlib.models.pnp_reader import Reader, write_context
from robustlib.models.pnp_relevance import draw_patches, let_gradients_begin, relevance
from robustlib.models.written import answer_questions
from robustlib.seeding import generator

Mode = Literal["rank", "generate"]

PUBLISHED = {
    "matcher": "Salesforce/blip-itm-large-coco",
    "captioner": "Salesforce/blip-image-captioning-large",
    "base": "allenai/unifiedqa-v2-t5-base-1363200",
    "large": "allenai/unifiedqa-v2-t5-large-1363200",
    "3b": "allenai/unifiedqa-v2-t5-3b-1363200",
}
"""Repositories of the hub: the BLIPs nearest to those the paper used, which LAVIS keeps in a form of its own (they were
fine-tuned on other parts of COCO), and its readers."""
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
        matcher: str = "",
        captioner: str = "",
        dtype: str = "float32",
        seed: int = 42,
        mode: Mode = "rank",
        numbers: dict[str, Any] | None = None,
    ) -> None:
        """Load three checkpoints, each a local folder, a repository of the hub, or "REPOSITORY@REVISION".

        Args:
            name: what the record calls the model.
            source: a folder whose config.json has `model_type` "pnp" and its own `numbers`, with sub-folders matcher,
                captioner and reader; or else the reader's checkpoint, "base", "large" or "3b" for those of the paper.
            matcher: a BlipForImageTextRetrieval, instead of the folder's or the published one.
            captioner: a BlipForConditionalGeneration, likewise.
            dtype: "float32", "bfloat16" or "float16".
            seed: of all that is drawn.
            mode: "rank" or "generate".
            numbers: those of `pnp_numbers.Numbers` that are to differ from the folder's, or from the published.
        """
        if mode not in get_args(Mode):
            raise UnknownNameError("mode", mode, get_args(Mode))
        parts, own = _find_parts(source)
        self.name = name
        self._source, self._seed, self._mode = source, seed, mode
        self._numbers = read_numbers({**own, **(numbers or {})})
        seeing = {"image_processor": BlipImageProcessorPil, "dtype": dtype}
        self._matcher = _load(Checkpoint, matcher or parts["matcher"], network=BlipForImageTextRetrieval, **seeing)
        self._captioner = _load(
            Checkpoint, captioner or parts["captioner"], network=BlipForConditionalGeneration, **seeing
        )
        self._reader = _load(Reader, parts["reader"], dtype=dtype, answer_length=self._numbers.answer_length)
        let_gradients_begin(self._matcher.network, self._numbers.layer)

    @torch.no_grad()  # not inference_mode, whose tensors no gradient can go through
    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        """Answer a batch, in order."""
        if not prompts:
            return []
        states, mask = self._reader.read(self._contexts(prompts))
        candidates = [prompt.options if self._mode == "rank" else () for prompt in prompts]
        return answer_questions(self._reader, prompts, candidates, states, mask)

    def describe(self) -> dict[str, str | int | float]:
        """Return what could change an answer; of what each of the three networks has, one after the other."""
        records = [part.describe() for part in (self._matcher, self._captioner, self._reader)]
        joined = {key: " + ".join(str(record[key]) for record in records) for key in ("revision", "network")}
        fingerprints = "".join(str(record["fingerprint"]) for record in records)
        folder = Path(self._source)
        checkpoints = " + ".join(str(record["checkpoint"]) for record in records)
        written = json.dumps(vars(self._numbers))
        return {
            **records[0],
            **joined,
            "checkpoint": folder.name if (folder / "reader").is_dir() else checkpoints,
            "fingerprint": sha256(fingerprints.encode()).hexdigest(),
            "parameters": sum(int(record["parameters"]) for record in records),
            "decoding": f"{self._mode}; captions with seed {self._seed} and {written}",
        }

    def _contexts(self, prompts: Sequence[Prompt]) -> list[list[str]]:
        """Return for each prompt what the reader reads."""
        questions = [_prepare(prompt.text, self._numbers.question_words) for prompt in prompts]
        images, places = distinct_images(prompts, self._matcher.network.config.vision_config.image_size)
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
        texts = [question.replace("?", "") for question in questions]
        ids, mask = self._matcher.tokens(texts, limit=self._numbers.question_tokens)
        network = self._matcher.network
        ids[:, 0] = network.config.text_config.vocab_size - 1  # [ENC], the last token of BLIP's vocabulary
        return relevance(network, self._numbers.layer, _encode(self._matcher, images)[places], ids, mask)

    def _captions(
        self, images: Sequence[Pixels], places: Tensor, looked_at: Tensor, digests: Sequence[str]
    ) -> list[list[str]]:
        """Return the captions of each prompt: as many rounds as it takes until there are enough that differ."""
        numbers, states = self._numbers, _encode(self._captioner, images)
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
                self._captioner.network,
                self._captioner.tokenizer,
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


def _find_parts(source: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Return where the three checkpoints lie, and the numbers that come with them."""
    config = read_config(source) if Path(source).is_dir() else {}
    if config.get("model_type") == "pnp":
        return {part: str(Path(source) / part) for part in ("matcher", "captioner", "reader")}, config["numbers"]
    return {**PUBLISHED, "reader": PUBLISHED.get(source, source)}, {}


def _load(kind: Any, part: str, **details: Any) -> Any:
    """Load a checkpoint from a folder, or from the hub with the revision after its "@"."""
    source, _, revision = (part, "", "") if Path(part).is_dir() else part.partition("@")
    try:
        return kind(source, revision=revision or None, **details)
    except OSError as error:
        raise RobustlibError(
            f"Cannot load {part!r}, a part of PNP-VQA: {error} If it has no model.safetensors: load it once with "
            "transformers, save it to a folder with save_pretrained, and name the folder instead."
        ) from error
