"""Right and wrong answers of VLM-RobustBench as arrays, and the rates they come to, once or for each resample."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustlib.errors import UnknownNameError
from robustlib.metrics.arrays import Array
from robustlib.metrics.bootstrap import ClusterDraws, draw_clusters
from robustlib.metrics.flips import FlipRates, flips_from_rates

BASELINES = ("clean", "no_image")


class Rates(NamedTuple):
    """Rates in percent of all questions. All have the same leading axes: none, or one of resamples."""

    clean: Array
    """... x V: accuracy on clean images."""
    no_image: Array
    """... x V: accuracy without images."""
    config: Array
    """... x V x 133: accuracy under each configuration."""
    kept: Array
    """... x V x 133: right on the clean image and under the configuration."""

    @property
    def flips(self) -> FlipRates:
        """... x V x 133 each."""
        return flips_from_rates(self.clean[..., None], self.config, self.kept)


@dataclass(frozen=True)
class BenchScores:
    """Which questions each model answered right under each condition."""

    models: tuple[str, ...]
    """V names."""
    images: NDArray[np.str_]
    """N: the image of each question, the cluster of every interval."""
    categories: NDArray[np.str_]
    """N: the category of each question."""
    correct: NDArray[np.bool_]
    """V x 135 x N: clean, no image, then the 133 configurations."""

    def rates(self) -> Rates:
        """Return the rates over all questions: V and V x 133."""
        whole = ClusterDraws(np.zeros(len(self.images), np.intp), np.ones((1, 1)))
        return Rates(*(values[0] for values in self.resampled_rates(whole)))

    def resampled_rates(self, draws: ClusterDraws) -> Rates:
        """Return the rates for each resample: R x V and R x V x 133. Clean and corrupted share the draws: paired."""
        models, conditions, questions = self.correct.shape
        kept = self.correct[:, :1] & self.correct[:, len(BASELINES) :]
        accuracy = 100 * draws.means(self.correct.reshape(-1, questions).T).reshape(-1, models, conditions)
        return Rates(
            clean=accuracy[..., 0],
            no_image=accuracy[..., 1],
            config=accuracy[..., len(BASELINES) :],
            kept=100 * draws.means(kept.reshape(-1, questions).T).reshape(-1, models, conditions - len(BASELINES)),
        )

    def draw(self, resamples: int, seed: int) -> ClusterDraws:
        """Draw images, with all their questions, with replacement."""
        return draw_clusters(self.images, resamples, seed)

    def of_models(self, models: Sequence[str]) -> "BenchScores":
        """Return the scores of some of the models, in the order given.

        Raises:
            UnknownNameError: one of them is not there.
        """
        for model in models:
            if model not in self.models:
                raise UnknownNameError("model", model, self.models)
        places = [self.models.index(model) for model in models]
        return BenchScores(tuple(models), self.images, self.categories, self.correct[places])
