"""Names of checkpoints, and where they lie. Light, so that a list of models is there at once."""

from pathlib import Path

from robustlib.errors import UnknownNameError

POCKET = Path(__file__).parent / "pocket"


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
    if name.startswith("pocket/") or name.count("/") != 1:
        raise UnknownNameError("model", name, pocket_names())
    return name
