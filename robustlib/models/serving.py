"""Talking to an OpenAI-compatible server: one request, with more attempts where the failure may pass."""

import json
import os
from dataclasses import dataclass
from time import sleep
from typing import Any

import httpx

from robustlib.errors import InvalidValueError, RobustlibError

TRANSIENT = frozenset({408, 409, 429, *range(500, 600)})
"""HTTP statuses that are worth another attempt, as are time-outs and broken connections."""
FIRST_WAIT = 1.0
"""Seconds between the first two attempts; the wait doubles with each."""
LONGEST_WAIT = 60.0
"""Seconds between two attempts, whatever a busy server asks for."""
_QUOTED = 500
"""Characters of a server's complaint that an error quotes."""


@dataclass(frozen=True)
class Server:
    """Where requests go, and how patiently. The key is read from the environment for each, and kept nowhere."""

    url: str
    """Address up to and with the version, without credentials or query."""
    key_variable: str
    """Environment variable that holds the key, which is sent as a bearer token; a server without keys needs none."""
    attempts: int
    """Tries for each request, at least 1."""
    timeout: float
    """Seconds that the server may be silent."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise InvalidValueError(f"A request needs at least 1 attempt, got {self.attempts}.")
        url = httpx.URL(self.url)
        if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query:
            raise InvalidValueError(
                f"A server is http(s)://HOST/... without credentials or query, got {url.scheme}://{url.host}{url.path}."
            )

    def complete(self, client: httpx.Client, request: dict[str, Any]) -> Any:
        """Return the JSON of the server's response to a request for a chat completion.

        Raises:
            RobustlibError: there was none, for good or in any of the attempts. The message never holds the key.
        """
        key = self._key()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        failure, wait = "", 0.0
        for attempt in range(self.attempts):
            sleep(wait)
            wait = FIRST_WAIT * 2**attempt
            try:
                response = client.post(
                    f"{self.url.rstrip('/')}/chat/completions", json=request, headers=headers, timeout=self.timeout
                )
            except httpx.TransportError as error:
                failure = f"{type(error).__name__} {error}".strip()
                continue
            text = response.text.replace(key, "[key]") if key else response.text
            if response.is_success:
                return self._parse(text)
            failure = f"HTTP {response.status_code} {text[:_QUOTED]}".strip()
            if response.status_code not in TRANSIENT:
                raise RobustlibError(f"{self.url}: {failure}")
            wait = min(LONGEST_WAIT, max(wait, _asked_wait(response)))
        raise RobustlibError(f"{self.url}: {failure} (last of {self.attempts} attempts)")

    def _key(self) -> str:
        key = os.environ.get(self.key_variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise RobustlibError(f"The key in {self.key_variable} holds characters that no key can hold.")
        return key

    def _parse(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise RobustlibError(f"{self.url}: the response is no JSON: {text[:_QUOTED]!r}") from error


def _asked_wait(response: httpx.Response) -> float:
    """Return the seconds that a busy server asks for, 0 where it does not."""
    asked = response.headers.get("retry-after", "")
    return float(asked) if asked.isdecimal() else 0.0
