"""The edges and distances of spatter against OpenCV's and SciPy's."""

import cv2
import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt

from robustlib.corruptions.edges import FARTHEST, distances, find_edges
from robustlib.seeding import generator


@pytest.mark.parametrize("size", [(1, 1), (1, 500), (300, 1), (70, 90)])
@pytest.mark.parametrize("share", [0.0005, 0.01, 0.3])
def test_distances_are_euclidean_and_cut_off(size: tuple[int, int], share: float) -> None:
    marks = generator("marks", *size).random(size) < share
    exact = np.full(size, np.inf) if not marks.any() else distance_transform_edt(~marks)
    np.testing.assert_array_equal(distances(marks), np.floor(256 * np.minimum(exact, FARTHEST) + 1e-3))


def test_a_distance_is_cut_off_where_the_original_does() -> None:
    marks = np.zeros((1, 60), bool)
    marks[0, 0] = True
    assert distances(marks)[0].tolist() == [256 * min(x, 20) for x in range(60)]


@pytest.mark.parametrize("size", [(1, 1), (1, 50), (70, 90)])
def test_edges_are_those_of_opencv(size: tuple[int, int]) -> None:
    noise = generator("edges", *size).integers(0, 256, size).astype(np.uint8)
    grey = np.asarray(cv2.GaussianBlur(noise, (0, 0), 1.5), np.uint8)
    np.testing.assert_array_equal(find_edges(grey, 50, 150), cv2.Canny(grey, 50, 150) > 0)
    if size == (70, 90):
        assert 0.01 < find_edges(grey, 50, 150).mean() < 0.5
