"""BLIP that answers with a text decoder (Li et al., ICML 2022), as transformers' BlipForQuestionAnswering."""

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor
from transformers import BlipForQuestionAnswering
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

from robustlib.errors import UnknownNameError
from robustlib.models.base import Answer, Explanation, Prompt
from robustlib.models.blip_network import log_likelihood, mend_cross_attention, read_questions, token_scores
from robustlib.models.checkpoint import Checkpoint
from robustlib.models.gradcam import as_map, gradcam
from robustlib.models.staged import Staged
from robustlib.models.written import answer_questions

ANSWER_TOKENS = 10
"""Longest answer that is generated, as in BLIP's own evaluation; one that does not end by then is "truncated"."""


Mode = Literal["rank", "generate"]


class Blip(Staged):
    """An encoder of image and question whose decoder scores or writes the answer.

    * Mode "rank": options, or else the checkpoint's own list of answers (`answers` in its config), are ranked by their
      log-likelihood under the decoder (`written.py`). Where there is nothing to rank, the answer is written.
    * Mode "generate": the answer is written greedily. Options are not shown.
    * Without an image, the model sees a grey square (`checkpoint.GREY`).
    """

    def __init__(
        self,
        name: str,
        source: str,
        *,
        revision: str | None = None,
        dtype: str = "float32",
        mode: Mode = "rank",
    ) -> None:
        """Load a checkpoint.

        Args:
            name: what the record calls it.
            source: a local folder or a repository of the hub.
            revision: the repository's branch, tag or commit.
            dtype: "float32", "bfloat16", "float16", or "auto": see `checkpoint.find_dtype`.
            mode: "rank" or "generate".
        """
        if mode not in get_args(Mode):
            raise UnknownNameError("mode", mode, get_args(Mode))
        self.name = name
        self._mode = mode
        self._checkpoint = Checkpoint(source, BlipForQuestionAnswering, BlipImageProcessorPil, revision, dtype)
        self._network = self._checkpoint.network
        self._decoder = BlipDecoder(self._checkpoint)
        self._answers: tuple[str, ...] = tuple(getattr(self._network.config, "answers", ()))
        mend_cross_attention(self._network)

    def prepare(self, prompts: Sequence[Prompt]) -> tuple[Tensor, ...]:
        """Return what the network reads: see `Checkpoint.batch`."""
        return self._checkpoint.batch(prompts, self._network.config.vision_config.image_size)

    @torch.inference_mode()
    def run(self, prompts: Sequence[Prompt], ready: tuple[Tensor, ...]) -> list[Answer]:
        """Answer a batch, in order."""
        pixels, places, ids, mask = map(self._checkpoint.move, ready)
        states = read_questions(self._network, pixels, places, ids, mask)
        return answer_questions(self._decoder, prompts, [self._candidates(prompt) for prompt in prompts], states, mask)

    def explain(self, prompts: Sequence[Prompt]) -> list[Explanation]:
        """Explain a batch, in order: by what the question's tokens attend to in all layers of the encoder."""
        if not prompts:
            return []
        pixels, places, ids, mask = map(self._checkpoint.move, self.prepare(prompts))
        with torch.no_grad():
            images = self._network.vision_model(pixels).last_hidden_state[places]
        output = self._network.text_encoder(
            ids, attention_mask=mask, encoder_hidden_states=images, output_attentions=True
        )
        states, candidates = output.last_hidden_state, [self._candidates(prompt) for prompt in prompts]
        with torch.no_grad():
            answers = answer_questions(self._decoder, prompts, candidates, states, mask)
        given = self._checkpoint.move(torch.tensor([answer.status == "ok" for answer in answers]))
        spelt = self._decoder.spell([answer.text for answer in answers])
        scores = token_scores(self._network, states, mask, spelt) * given[:, None]
        patches = gradcam(scores, output.cross_attentions, mask)[:, 1:]
        columns = self._network.config.vision_config.image_size // self._network.config.vision_config.patch_size
        return [Explanation(answer, as_map(own, columns)) for answer, own in zip(answers, patches, strict=True)]

    def describe(self) -> dict[str, str | int | float]:
        """Return what could change an answer."""
        written = f"greedy, {ANSWER_TOKENS} tokens"
        unasked = f"{len(self._answers)} answers" if self._answers else written
        ranked = f"likelihood over the options, else {unasked}"
        return self._checkpoint.describe(decoding=ranked if self._mode == "rank" else written)

    def _candidates(self, prompt: Prompt) -> Sequence[str]:
        """Return what is ranked; nothing where the answer is written."""
        return () if self._mode == "generate" else prompt.options or self._answers


class BlipDecoder:
    """The text decoder, as one that `written` can ask."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint, self._network = checkpoint, checkpoint.network
        self._text = self._network.config.text_config
        self.tokenizer, self.end = checkpoint.tokenizer, self._text.sep_token_id

    def spell(self, texts: Sequence[str]) -> Tensor:
        """Return answers as tokens; see `written.Decoder`."""
        ids, _ = self._checkpoint.tokens(texts)
        ids[:, 0] = self._text.bos_token_id
        return self._checkpoint.move(ids)

    def log_likelihood(self, states: Tensor, mask: Tensor, ids: Tensor) -> Tensor:
        """Return the log-likelihood of one answer for each question; see `written.Decoder`."""
        return log_likelihood(self._network, states, mask, ids)

    def write(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return a greedily written answer for each question; see `written.Decoder`."""
        start = torch.full((len(states), 1), self._text.bos_token_id, device=states.device)
        ids: Tensor = self._network.text_decoder.generate(
            start,
            encoder_hidden_states=states,
            encoder_attention_mask=mask,
            eos_token_id=self.end,
            pad_token_id=self._text.pad_token_id,
            max_new_tokens=ANSWER_TOKENS,
            do_sample=False,
        )
        return ids
