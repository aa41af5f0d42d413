"""The statuses of answers: the same four in every room, and no other counts in silence."""

from typing import get_args

import numpy as np
import pandas as pd
import pytest

from robustlib.errors import InvalidValueError
from robustlib.metrics import STATUSES, status_shares, status_shares_by_condition
from robustlib.models.base import Status
from tests.metrics.vlm_table import hand_made_predictions


def test_they_are_those_of_the_adapters() -> None:
    assert get_args(Status) == STATUSES


def test_shares_by_hand() -> None:
    frame = pd.DataFrame(
        [
            *[{"model": "m", "family": "clean", "status": status} for status in ("ok", "ok", "ok", "error")],
            *[{"model": "m", "family": "corruption", "status": status} for status in ("truncated", "no_answer")],
        ]
    )
    shares = status_shares(frame)
    assert list(shares) == ["model", "images", "rows", *STATUSES]
    assert shares.to_numpy().tolist() == [["m", "clean", 4, 0.75, 0, 0, 0.25], ["m", "corrupted", 2, 0, 0.5, 0.5, 0]]


@pytest.mark.parametrize("wrong", ["OK", "timeout", None, np.nan])
def test_an_unknown_status_is_refused(wrong: str | float | None) -> None:
    predictions = hand_made_predictions().astype({"status": object})
    predictions.loc[7, "status"] = wrong
    for shares in (status_shares, status_shares_by_condition):
        with pytest.raises(InvalidValueError, match=f"one of ok, no_answer, truncated, error, got {wrong!r}"):
            shares(predictions)
