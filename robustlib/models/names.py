"""Names of checkpoints, and where they lie. Light, so that a list of models is there at once."""

import re
from pathlib import Path

from robustlib.errors import UnknownNameError
from robustlib.models.registry import SCHEMES

POCKET = Path(__file__).parent / "pocket"
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def pocket_names() -> list[str]:
    """Return "pocket/..." for every checkpoint in the repository."""
    return sorted(f"pocket/{config.parent.name}" for config in POCKET.glob("*/config.json"))


def locate(name: str) -> str:
    """Return the folder of a pocket or local checkpoint, or the hub repository's own name.

    Raises:
        UnknownNameError: the name is none of the three.
    """
    if name in pocket_names():
        return str(POCKET.parent / name)
    if name and Path(name).is_dir():
        return name
    if name.startswith("pocket/") or not _HUB_NAME.fullmatch(name):
        raise _unknown(name)
    return name


def _unknown(name: str) -> UnknownNameError:
    scheme, _, rest = name.partition(":")
    if rest:
        return UnknownNameError("kind of model", f"{scheme}:", [form.partition(":")[0] + ":" for form in SCHEMES])
    return UnknownNameError("model", name, [*pocket_names(), *SCHEMES])
