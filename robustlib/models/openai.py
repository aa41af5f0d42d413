"""Models behind an OpenAI-compatible endpoint: vLLM, SGLang, Ollama or hosted."""

import base64
import io
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from PIL import Image

from robustlib.data.images import Pixels
from robustlib.errors import InvalidValueError, RobustlibError
from robustlib.models.base import Answer, Prompt
from robustlib.models.completions import read_completion
from robustlib.models.prompts import (
    NEW_TOKENS,
    PROMPTS_HASH,
    TEMPERATURE,
    TOP_K,
    TOP_P,
    Mode,
    check_mode,
    describe_decoding,
    write_prompt,
)
from robustlib.models.serving import Server

HOSTED = "https://api.openai.com/v1"


class Endpoint:
    """Asks a server for chat completions, several prompts at a time.

    * Images travel as PNG data URLs, so that the server gets every pixel as it is.
    * Whatever goes wrong is an answer with the status "error" and the reason; a refusal or a filter is "no_answer".
    * What the server runs cannot be seen: the record holds the names of model and endpoint alone, and a sweep does not
      notice that another model stands behind the same name.
    """

    def __init__(
        self,
        name: str,
        source: str,
        *,
        base_url: str | None = None,
        key_variable: str = "OPENAI_API_KEY",
        mode: Mode = "direct",
        seed: int = 42,
        max_new_tokens: int | None = None,
        logprobs: bool = True,
        concurrency: int = 8,
        attempts: int = 5,
        timeout: float = 120.0,
    ) -> None:
        """Describe the endpoint; nothing is sent yet.

        Args:
            name: what the record calls the model.
            source: what the server calls it.
            base_url: address up to and with the version, such as "http://localhost:8000/v1"; None for the environment's
                OPENAI_BASE_URL, or else OpenAI's own.
            key_variable: environment variable that holds the key.
            mode: "direct", "cot" or "thinking"; see `prompts.Mode`.
            seed: sent along for servers that heed one.
            max_new_tokens: the longest response; None for what VLM-RobustBench allows in this mode.
            logprobs: whether to ask for log-probabilities in the mode "direct"; off for a server that rejects that.
            concurrency: prompts under way at once, at least 1.
            attempts: tries for each prompt.
            timeout: seconds that the server may be silent.
        """
        check_mode(mode)
        if mode == "rank":
            raise InvalidValueError("An endpoint does not show all its logits to rank by: use the mode 'direct'.")
        if concurrency < 1:
            raise InvalidValueError(f"At least 1 prompt must be under way at once, got {concurrency}.")
        self.name = name
        self._model, self._mode, self._seed = source, mode, seed
        self._server = Server(base_url or os.environ.get("OPENAI_BASE_URL") or HOSTED, key_variable, attempts, timeout)
        self._new_tokens = NEW_TOKENS[mode] if max_new_tokens is None else max_new_tokens
        self._logprobs = logprobs and mode == "direct"
        self._concurrency = concurrency

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        """Answer a batch, in order.

        Raises:
            InvalidValueError: a prompt has more than 26 options.
        """
        requests = [self._request(prompt) for prompt in prompts]
        with httpx.Client() as client, ThreadPoolExecutor(self._concurrency) as pool:
            return list(pool.map(lambda prompt, request: self._ask(client, prompt, request), prompts, requests))

    def describe(self) -> dict[str, str | int | float]:
        """Return what could change an answer, as far as it can be seen from here."""
        return {
            "checkpoint": self._model,
            "endpoint": self._server.url,
            "revision": "served",
            "fingerprint": "served",
            "network": "served",
            "processor": "PNG data URL",
            "dtype": "served",
            "parameters": "served",
            "mode": self._mode,
            "prompt": PROMPTS_HASH,
            "decoding": describe_decoding(self._mode, self._new_tokens, self._seed),
        }

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        images = [{"type": "image_url", "image_url": {"url": png_url(image)}} for image in prompt.images]
        text = {"type": "text", "text": write_prompt(prompt, self._mode)}
        sampled = {"temperature": TEMPERATURE, "top_p": TOP_P, "top_k": TOP_K}
        return {
            "model": self._model,
            "messages": [{"role": "user", "content": [*images, text]}],
            "max_tokens": self._new_tokens,
            "seed": self._seed,
            **(sampled if self._mode == "thinking" else {"temperature": 0.0}),
            **({"logprobs": True, "top_logprobs": 20} if self._logprobs else {}),
        }

    def _ask(self, client: httpx.Client, prompt: Prompt, request: dict[str, Any]) -> Answer:
        try:
            return read_completion(self._server.complete(client, request), prompt, self._mode)
        except RobustlibError as error:
            return Answer("", "error", reason=str(error))


def png_url(image: Pixels) -> str:
    """Return an image, uint8 H x W x 3, as a PNG data URL."""
    encoded = io.BytesIO()
    Image.fromarray(image).save(encoded, "PNG")
    return f"data:image/png;base64,{base64.b64encode(encoded.getvalue()).decode()}"
