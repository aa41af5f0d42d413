"""Data that people labelled, to measure rules on."""

from pathlib import Path

import pandas as pd

_ERROR_KINDS = Path(__file__).parent / "error_kinds.csv"


def labelled_error_kinds() -> pd.DataFrame:
    """Return 100 wrong answers to questions about images, each with the kind of error that a person sees in it.

    Returns:
        Text columns ``question``, ``reference``, ``prediction``, ``kind`` and ``source`` ("table4" for those of the
        visual robustness benchmark for VQA, Table 4, else "own"); the file says what the kinds mean, and who decided.
    """
    return pd.read_csv(_ERROR_KINDS, dtype=str, keep_default_na=False, comment="#")
