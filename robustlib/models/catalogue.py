"""The list of models: what comes with robustlib, and how any other is named. Light: it loads no model and no torch."""

import json
from dataclasses import dataclass
from importlib.metadata import metadata
from math import prod
from pathlib import Path

from safetensors import safe_open

from robustlib.models.names import POCKET, pocket_names
from robustlib.models.registry import ADAPTERS, CHAT, SCHEMES, Adapter


@dataclass(frozen=True)
class Entry:
    """One model, or all that are named in one way."""

    name: str
    """What `load_model` takes, or its form."""
    parameters: int | None
    """None where they are the checkpoint's own."""
    licence: str
    """An SPDX identifier, or "its own"."""
    modes: tuple[str, ...]
    """See `registry.Adapter.modes`."""
    network: str
    """Class of the network; "served" or "none" where there is none here."""


def catalogue() -> list[Entry]:
    """Return the pocket models, then the families of checkpoints, then the models that are named by a scheme."""
    families = {**dict(sorted(ADAPTERS.items())), "any other": CHAT}
    forms = {f"HUB-ID or FOLDER ({family})": adapter for family, adapter in families.items()} | SCHEMES
    return [*map(_pocket_entry, pocket_names()), *(_form_entry(form, adapter) for form, adapter in forms.items())]


def _form_entry(form: str, adapter: Adapter) -> Entry:
    return Entry(form, None, "its own", adapter.modes, adapter.network)


def _pocket_entry(name: str) -> Entry:
    folder = POCKET.parent / name
    config = json.loads((folder / "config.json").read_text())
    adapter = ADAPTERS.get(config["model_type"], CHAT)
    return Entry(
        name,
        sum(_count(weights) for weights in folder.rglob("*.safetensors")),
        metadata("robustlib")["License-Expression"],
        adapter.modes,
        config["architectures"][0] if adapter is CHAT else adapter.network,
    )


def _count(weights: Path) -> int:
    """Return the number of parameters in a file of weights, of which only the head is read."""
    with safe_open(weights, framework="numpy") as file:
        names = file.keys()
        return sum(prod(file.get_slice(name).get_shape()) for name in names)
