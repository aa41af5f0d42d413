"""Chat models: any image-text-to-text model of transformers, through its own chat template."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

import torch
from transformers import BatchFeature

from robustlib.errors import InvalidValueError
from robustlib.models.base import Answer, Prompt
from robustlib.models.chat_checkpoint import ChatCheckpoint
from robustlib.models.decoding import Record, settle, thinking_sampler
from robustlib.models.letters import letter_tokens, score_letters
from robustlib.models.prompts import (
    NEW_TOKENS,
    PROMPTS_HASH,
    Mode,
    check_mode,
    describe_decoding,
    read_response,
    write_prompt,
)
from robustlib.models.ranking import best_option
from robustlib.models.staged import Staged


class Chat(Staged):
    """A decoder that reads images and text and writes a response.

    * The images stand before the question, in their order; without one, the question is asked as text alone. PaliGemma,
      which must see an image, then sees a grey square (`checkpoint.GREY`).
    * `direct` and `rank` score the options by the letter that comes next (`letters.py`). In `direct` the answer is
      still what the model wrote; in `rank` it is the best option.
    * The confidence is the probability of the whole response in `direct`, and of the option among the options in
      `rank`. `cot` and `thinking` give neither scores nor confidence.
    * A response that does not end within the tokens allowed, or whose thinking does not, is "truncated"; an empty one
      is "no_answer". Where the tokenizer lacks an option's letter, it is "error", for that prompt alone.
    """

    def __init__(
        self,
        name: str,
        source: str,
        *,
        revision: str | None = None,
        mode: Mode = "direct",
        dtype: str = "float32",
        seed: int = 42,
        max_new_tokens: int | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        """Load a checkpoint.

        Args:
            name: what the record calls it.
            source: a local folder or a repository of the hub.
            revision: the repository's branch, tag or commit.
            mode: how the model is asked; see `prompts.Mode`.
            dtype: "float32", "bfloat16", "float16", or "auto": see `checkpoint.find_dtype`.
            seed: of the sampling in the mode "thinking"; each prompt has its own stream.
            max_new_tokens: the longest response; None for what VLM-RobustBench allows in this mode.
            trust_remote_code: whether code that comes with the checkpoint may run.
        """
        check_mode(mode)
        self.name = name
        self._mode, self._seed = mode, seed
        self._new_tokens = NEW_TOKENS[mode] if max_new_tokens is None else max_new_tokens
        self._checkpoint = ChatCheckpoint(source, revision, dtype, trust_remote_code)
        if self._checkpoint.is_paligemma and mode in ("cot", "thinking"):
            raise InvalidValueError(
                f"PaliGemma follows no instructions: the mode must be 'direct' or 'rank', not {mode!r}."
            )
        self._ends = settle(self._checkpoint.network, self._checkpoint.tokenizer, self._new_tokens)
        self._letters = letter_tokens(self._checkpoint.tokenizer.get_vocab())

    def prepare(self, prompts: Sequence[Prompt]) -> BatchFeature:
        """Return what the processor makes of a batch.

        Raises:
            InvalidValueError: a prompt has more than 26 options, or none in the mode "rank", or its text holds one of
                the model's own control tokens.
        """
        texts = [write_prompt(prompt, self._mode, not self._checkpoint.is_paligemma) for prompt in prompts]
        return self._checkpoint.inputs([prompt.images for prompt in prompts], texts)

    @torch.inference_mode()
    def run(self, prompts: Sequence[Prompt], ready: BatchFeature) -> list[Answer]:
        """Answer a batch, in order."""
        inputs = ready.to(self._checkpoint.device, dtype=self._checkpoint.network.dtype)
        record = Record()
        step = thinking_sampler(prompts, self._seed) if self._mode == "thinking" else record
        ids = self._checkpoint.network.generate(**inputs, logits_processor=[step])
        new = ids[:, inputs["input_ids"].shape[1] :].tolist()
        return [self._read(prompt, row, new[row], record) for row, prompt in enumerate(prompts)]

    def describe(self) -> dict[str, str | int | float]:
        """Return what could change an answer."""
        checkpoint, images = self._checkpoint, self._checkpoint.image_processor
        return checkpoint.describe(
            processor=f"{type(checkpoint.processor).__name__}/{type(images).__name__} ({images.backend})",
            mode=self._mode,
            prompt=sha256(f"{PROMPTS_HASH} {checkpoint.template}".encode()).hexdigest(),
            decoding=describe_decoding(self._mode, self._new_tokens, self._seed),
        )

    def _read(self, prompt: Prompt, row: int, tokens: list[int], record: Record) -> Answer:
        scored = Answer("")
        if prompt.options and self._mode in ("direct", "rank"):
            try:
                scores, mass = score_letters(record.first_logits(row), self._letters[: len(prompt.options)])
            except InvalidValueError as error:
                return Answer("", "error", reason=str(error))
            scored = replace(best_option(prompt.options, scores), option_mass=mass)
        if self._mode == "rank":
            return scored
        unanswered = replace(scored, text="", choice=-1, confidence=None)
        end = next((place for place, token in enumerate(tokens) if token in self._ends), None)
        if end is None:
            return replace(unanswered, status="truncated")
        response = self._checkpoint.tokenizer.decode(tokens[:end], skip_special_tokens=True)
        text = read_response(response, prompt, self._mode)
        if not text:
            return replace(unanswered, status="truncated" if text is None else "no_answer")
        confidence = record.probability(row, end + 1) if self._mode == "direct" else None
        return replace(unanswered, text=text, confidence=confidence)
