"""Reading an OpenAI-compatible chat completion."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, fsum, log
from typing import Any

from robustlib.errors import RobustlibError
from robustlib.models.base import Answer, Prompt
from robustlib.models.prompts import LETTERS, Mode, read_response


def read_completion(body: Any, prompt: Prompt, mode: Mode) -> Answer:
    """Return the answer that a completion's first choice gives.

    Where the server gives log-probabilities, the confidence is the probability of the tokens written, without that of
    ending there, and options are scored by the first token: one logit per option, the logsumexp over the forms of its
    letter among the likeliest tokens, where every letter is among them.

    Args:
        body: the response's JSON.
        prompt: what was asked.
        mode: how it was asked.

    Raises:
        RobustlibError: it does not have the form of a completion.
    """
    try:
        return _read_choice(body["choices"][0], prompt, mode)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise RobustlibError(f"the response is no chat completion: {str(body)[:500]}") from error


def _read_choice(choice: Mapping[str, Any], prompt: Prompt, mode: Mode) -> Answer:
    message, finish = choice["message"], choice.get("finish_reason")
    tokens = (choice.get("logprobs") or {}).get("content") or []
    scored = _score_options(tokens, len(prompt.options))
    if message.get("refusal"):
        return replace(scored, status="no_answer", reason=f"The model refused: {message['refusal']}")
    if finish == "content_filter":
        return replace(scored, status="no_answer", reason="The server filtered the response.")
    if finish == "length":
        return replace(scored, status="truncated")
    thought_apart = message.get("reasoning_content") or message.get("reasoning")
    text = read_response(message["content"] or "", prompt, "direct" if thought_apart else mode)
    if not text:
        return replace(scored, status="truncated" if text is None else "no_answer")
    return replace(scored, text=text, confidence=_probability(tokens))


def _score_options(tokens: Sequence[Mapping[str, Any]], options: int) -> Answer:
    """Return an answer of scores alone: from the likeliest first tokens, where every option's letter is among them."""
    likeliest = tokens[0]["top_logprobs"] if tokens else []
    masses = [fsum(exp(top["logprob"]) for top in likeliest if top["token"].strip() == letter) for letter in LETTERS]
    own = masses[:options]
    if not own or not all(own):
        return Answer("")
    return Answer("", logits=tuple(map(log, own)), option_mass=min(1.0, fsum(own)))


def _probability(tokens: Sequence[Mapping[str, Any]]) -> float | None:
    if not tokens:
        return None
    return min(1.0, exp(fsum(token["logprob"] for token in tokens)))
