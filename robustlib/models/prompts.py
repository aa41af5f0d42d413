"""How chat models are asked: the published prompts and settings, and how a final answer is read from a response.

A prompt is the question, its options as lines "A. ...", and an instruction, joined by single newlines.

Sources: the choice instructions are those of MMMU-Pro (Yue et al., ACL 2025; MMMU-Benchmark/MMMU,
mmmu-pro/prompts.yaml, "standard"), one of VLM-RobustBench's two benchmarks; the open one is that of LLaVA-1.5 for VQAv2
(Liu et al., CVPR 2024). No chain-of-thought instruction for short open answers is published: ours follows MMMU-Pro's.

Settings are those of VLM-RobustBench (sections C.1 and C.4): greedy with at most 2,048 new tokens; in the mode thinking
sampled, with temperature 0.6, the 20 likeliest tokens, a nucleus of 0.95, seed 42 and at most 8,192.
"""

import hashlib
from string import ascii_uppercase
from typing import Literal, get_args

from robustlib.errors import InvalidValueError, UnknownNameError
from robustlib.models.base import Prompt

Mode = Literal["direct", "rank", "cot", "thinking"]
"""How a chat model is asked.

* direct: for the answer alone.
* rank: as direct, but nothing is written: the option whose letter is the likeliest next token is chosen.
* cot: to think step by step and end with a line "Answer: ...".
* thinking: as direct, of a model that by itself thinks inside <think> ... </think> first.
"""

NEW_TOKENS: dict[Mode, int] = {"direct": 2048, "rank": 1, "cot": 2048, "thinking": 8192}
"""The longest response."""
TEMPERATURE = 0.6
TOP_K = 20
TOP_P = 0.95

LETTERS = ascii_uppercase
DIRECT_CHOICE = "Answer with the option letter from the given choices directly."
DIRECT_OPEN = "Answer the question using a single word or phrase."
COT_CHOICE = (
    "Answer the preceding multiple choice question. The last line of your response should be of the following format: "
    "'Answer: $LETTER' (without quotes) where LETTER is one of options. Think step by step before answering."
)
COT_OPEN = (
    "Answer the preceding question. The last line of your response should be of the following format: "
    "'Answer: $ANSWER' (without quotes) where ANSWER is a single word or phrase. Think step by step before answering."
)
PROMPTS_HASH = hashlib.sha256("\n".join([DIRECT_CHOICE, DIRECT_OPEN, COT_CHOICE, COT_OPEN]).encode()).hexdigest()
"""Changes whenever an instruction does."""


def check_mode(mode: str) -> None:
    """Raise UnknownNameError unless the mode is one of `Mode`."""
    if mode not in get_args(Mode):
        raise UnknownNameError("mode", mode, get_args(Mode))


def write_prompt(prompt: Prompt, mode: Mode, instruct: bool = True) -> str:
    """Return what the model is asked; without the instruction for a model that follows none.

    Raises:
        InvalidValueError: there are more options than letters, or nothing to rank.
    """
    if len(prompt.options) > len(LETTERS):
        raise InvalidValueError(f"A question can have {len(LETTERS)} lettered options, got {len(prompt.options)}.")
    if mode == "rank" and not prompt.options:
        raise InvalidValueError(f"The mode 'rank' needs options, but {prompt.text!r} has none: use 'direct'.")
    options = [f"{letter}. {option}" for letter, option in zip(LETTERS, prompt.options, strict=False)]
    instruction = [_instruction(bool(prompt.options), mode)] if instruct else []
    return "\n".join([prompt.text, *options, *instruction])


def read_response(response: str, prompt: Prompt, mode: Mode) -> str | None:
    """Return the final answer of a complete response, or None where thinking never ended.

    After thinking, it is what follows the last "</think>". An open answer after a chain of thought is what follows the
    last "Answer:", or nothing; a choice is left for the scoring to read.
    """
    if mode == "thinking":
        _, closed, response = response.rpartition("</think>")
        if not closed:
            return None
    if mode == "cot" and not prompt.options:
        _, found, rest = response.rpartition("Answer:")
        response = rest if found else ""
    return response.strip()


def describe_decoding(mode: Mode, new_tokens: int, seed: int) -> str:
    """Return the settings in words."""
    if mode == "rank":
        return "logsumexp over the one-token forms of each option letter"
    if mode == "thinking":
        sampled = f"sampled with temperature {TEMPERATURE}, top-k {TOP_K}, top-p {TOP_P} and seed {seed}"
        return f"{sampled}, at most {new_tokens} new tokens"
    return f"greedy, at most {new_tokens} new tokens"


def _instruction(has_options: bool, mode: Mode) -> str:
    if mode == "cot":
        return COT_CHOICE if has_options else COT_OPEN
    return DIRECT_CHOICE if has_options else DIRECT_OPEN
