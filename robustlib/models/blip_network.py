"""What the BLIP adapter and the BLIP recipe both ask of the network."""

from typing import Any

from torch import Tensor, nn
from transformers import BlipForQuestionAnswering

from robustlib.models.written import summed_log_likelihood


def mend_cross_attention(network: BlipForQuestionAnswering) -> None:
    """Make the decoder heed the question's mask, so that padded questions answer as they would alone.

    transformers 5.24 hands that mask to cross-attention under a name that the attention does not read.
    """
    for name, module in network.named_modules():
        if name.endswith("crossattention.self"):
            module.register_forward_pre_hook(_rename_mask, with_kwargs=True)


def _rename_mask(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    return args, {"encoder_attention_mask": kwargs.get("attention_mask"), **kwargs}


def read_questions(
    network: BlipForQuestionAnswering, pixels: Tensor, places: Tensor, ids: Tensor, mask: Tensor
) -> Tensor:
    """Encode questions about images.

    Args:
        network: the model.
        pixels: images x 3 x side x side.
        places: for each question the index of its image.
        ids: questions x tokens.
        mask: the same shape, 0 where padded.

    Returns:
        questions x tokens x hidden.
    """
    images = network.vision_model(pixels).last_hidden_state[places]
    states: Tensor = network.text_encoder(ids, attention_mask=mask, encoder_hidden_states=images).last_hidden_state
    return states


def log_likelihood(network: BlipForQuestionAnswering, states: Tensor, mask: Tensor, ids: Tensor) -> Tensor:
    """Score answers.

    Args:
        network: the model, mended.
        states: encoded questions, answers x question tokens x hidden.
        mask: answers x question tokens, 0 where padded.
        ids: answers x answer tokens, [DEC] answer [SEP], padded.

    Returns:
        For each answer the sum of the log-probabilities of its tokens after [DEC], in float32. The decoder's own loss
        would add up in half precision, and smooth the labels if the checkpoint was trained so.
    """
    return summed_log_likelihood(_logits(network, states, mask, ids), ids, network.decoder_pad_token_id)


def token_scores(network: BlipForQuestionAnswering, states: Tensor, mask: Tensor, ids: Tensor) -> Tensor:
    """Return the logits of the answers' tokens after [DEC], answers x tokens, 0 where padded; see `log_likelihood`.

    Their gradient does not vanish where an answer is almost certain, as that of the likelihood does.
    """
    asked = ids[:, 1:]
    scores: Tensor = _logits(network, states, mask, ids)[:, :-1].gather(2, asked[..., None])[..., 0]
    return scores.masked_fill(asked == network.decoder_pad_token_id, 0)


def _logits(network: BlipForQuestionAnswering, states: Tensor, mask: Tensor, ids: Tensor) -> Tensor:
    decoder: Any = network.text_decoder
    logits: Tensor = decoder(ids, encoder_hidden_states=states, encoder_attention_mask=mask, use_cache=False).logits
    return logits
