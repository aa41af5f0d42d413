"""Data sets of the hub: the Parquet files of a split, at a fixed revision, fetched once into the hub's cache."""

from collections.abc import Mapping
from pathlib import Path

from robustlib.errors import RobustlibError

_CAULDRON = ("HuggingFaceM4/the_cauldron", "847a98a779b1652d65111daf20c972dfcd333605")
REPOSITORIES: Mapping[str, tuple[str, str, str]] = {
    "ai2d": (*_CAULDRON, "ai2d/"),
    "aokvqa": ("HuggingFaceM4/A-OKVQA", "d1b0efa3a436e9101dfbde3752db7607da696c35", ""),
    "mapqa": (*_CAULDRON, "mapqa/"),
    "scienceqa": ("derek-thomas/ScienceQA", "fc07d18c08ca52388c710215198e97abf565b9cb", ""),
    "visual7w": (*_CAULDRON, "visual7w/"),
    "vqav2": ("lmms-lab/VQAv2", "d138befad7ef091aa8af15243db2f1e2b2932349", ""),
    "vqav2_yesno": ("lmms-lab/VQAv2", "d138befad7ef091aa8af15243db2f1e2b2932349", ""),
    "vsr": (*_CAULDRON, "vsr/"),
}
"""By data set: repository, commit, and folder in it. VQAv2 has its split "validation" alone there, in 7 GB."""


def fetch(name: str, split: str) -> Path:
    """Return the folder of a data set's files, fetched now if they are not in the cache.

    Raises:
        RobustlibError: they are not in the cache, and cannot be fetched.
    """
    from huggingface_hub import snapshot_download

    repository, revision, folder = REPOSITORIES[name]
    try:
        home = snapshot_download(
            repository, repo_type="dataset", revision=revision, allow_patterns=[f"{folder}*{split}-*.parquet"]
        )
    except (OSError, ValueError) as error:
        raise RobustlibError(
            f"Cannot fetch {repository} at {revision[:12]} from the hub: {' '.join(str(error).split())} "
            f'With its files here, give their folder: "{name}:PATH".'
        ) from error
    return Path(home) / folder
