"""The questions of a finished sweep, loaded again, as the predictions do not hold their words."""

from pathlib import Path
from typing import Any

from robustlib.data import Dataset
from robustlib.sweep.plan import load_choice
from robustlib.sweep.profile import DatasetChoice, ModelChoice, Profile
from robustlib.sweep.store import StoreError, read_manifest


def load_asked(out: str | Path) -> list[Dataset]:
    """Load the data sets that a finished sweep asked, with the same questions.

    Args:
        out: the sweep's output folder. A relative path of a data file is kept there as it was, so call this from the
            folder where the sweep ran; one whose profile was given by an absolute path can be loaded from anywhere.

    Raises:
        StoreError: the sweep is not whole, or the questions or images have changed since.
        RobustlibError: the files of a data set cannot be read.
    """
    manifest = read_manifest(out)
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in manifest["profile"].items()
    }
    values["datasets"] = tuple(DatasetChoice(**choice) for choice in values["datasets"])
    values["models"] = tuple(ModelChoice(**choice) for choice in values["models"])
    profile = Profile(**values)
    datasets = [load_choice(choice, profile, out) for choice in profile.datasets]
    for dataset in datasets:
        asked = manifest["datasets"].get(f"{dataset.name}/{dataset.split}", {})
        if dataset.fingerprint() != asked.get("fingerprint"):
            raise StoreError(
                f"The questions of {dataset.name}/{dataset.split} are not those that the sweep in {out} asked; "
                "the data has changed since. Run the sweep again."
            )
    return datasets
