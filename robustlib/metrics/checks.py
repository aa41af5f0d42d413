"""What the metrics ask of a predictions table as a whole."""

from collections.abc import Sequence

import pandas as pd

from robustlib.errors import InvalidValueError


def require_columns(predictions: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise InvalidValueError, with the names, if some of the columns are absent."""
    absent = [name for name in columns if name not in predictions.columns]
    if absent:
        raise InvalidValueError(f"The predictions lack the columns {absent}; they have {list(predictions.columns)}.")


def image_names(predictions: pd.DataFrame) -> pd.Series:
    """Return the image of each row by a name that no image of another data set or split has."""
    names: pd.Series = predictions["dataset"] + "/" + predictions["split"] + "/" + predictions["image_id"]
    return names


def require_one_source(predictions: pd.DataFrame) -> None:
    """Raise InvalidValueError unless all rows, at least one, are of one data set and split."""
    sources = predictions[["dataset", "split"]].drop_duplicates()
    if len(sources) != 1:
        names = sorted(f"{dataset}/{split}" for dataset, split in sources.itertuples(index=False))
        raise InvalidValueError(f"The rows must be of one data set and split, got {names or 'no row at all'}.")
