"""What metrics on arrays share."""

import math

import numpy as np

from robustlib.metrics.arrays import mean_of_defined


def test_the_mean_leaves_out_what_is_not_a_number_and_nothing_else() -> None:
    rows = [[1, math.nan, 3], [math.nan, math.nan, math.nan], [math.inf, math.nan, math.nan], [math.inf, 1, 2]]
    np.testing.assert_array_equal(mean_of_defined(rows), [2, math.nan, math.inf, math.inf])
