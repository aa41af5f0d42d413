"""How the visual robustness benchmark for VQA lays out its corruptions: groups, order and short names (Table 1)."""

from collections.abc import Sequence

OTHER = "Other"
"""The group of a corruption that the benchmark does not have."""

GROUPS: dict[str, dict[str, str]] = {
    "Noise": {
        "shot_noise": "Shot",
        "gaussian_noise": "Gaussian",
        "impulse_noise": "Impulse",
        "speckle_noise": "Speckle",
    },
    "Blur": {"defocus_blur": "Defocus", "zoom_blur": "Zoom"},
    "Weather": {"snow": "Snow"},
    "Image attribute": {"brightness": "Brightness", "contrast": "Contrast", "saturate": "Saturate"},
    "Physical": {"elastic_transform": "Elastic", "spatter": "Spatter"},
    "Digital": {"pixelate": "Pixelate", "jpeg_compression": "JPEG"},
}

SUBMETRIC_LABELS = {
    "first_drop": "First drop",
    "range_of_error": "Range of error",
    "error_rate": "Error rate",
    "average_error": "Average error",
    "average_difference": "Average difference",
}

_GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}
_LABEL_OF = {name: label for names in GROUPS.values() for name, label in names.items()}


def group_of(corruption: str) -> str:
    """Return the group of a corruption, `OTHER` if the benchmark does not have it."""
    return _GROUP_OF.get(corruption, OTHER)


def label_of(corruption: str) -> str:
    """Return the short printed name of a corruption."""
    return _LABEL_OF.get(corruption, corruption.replace("_", " ").capitalize())


def in_table_order(corruptions: Sequence[str]) -> list[str]:
    """Return corruptions in the order of Table 1; those that it does not have come last, in the given order."""
    known = [name for name in _GROUP_OF if name in corruptions]
    return known + [name for name in corruptions if name not in _GROUP_OF]
