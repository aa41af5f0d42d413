"""Mean corruption error (mCE) against a reference model (VLM-RobustBench, Section 5.7 and Appendix B.3)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robustlib.errors import InvalidValueError, UnknownNameError
from robustlib.metrics.arrays import Array, mean_of_defined, model_names, ratio
from robustlib.metrics.configurations import category_types, corruption_columns


def reference_model(acc_clean: ArrayLike, models: Sequence[str]) -> str:
    """Return the model with the lowest clean accuracy, the first of them if there are several.

    Args:
        acc_clean: V clean accuracies.
        models: V names.
    """
    accuracy = np.asarray(acc_clean, np.float64)
    return model_names(models, len(accuracy))[int(accuracy.argmin())]


def corruption_errors(acc_config: ArrayLike, models: Sequence[str], reference: str) -> Array:
    """Return the corruption error CE of every model and type, in percent of the reference's.

    An error is 100 less the accuracy. CE is the model's errors summed over the severities of a type, divided by the
    reference's: a ratio of sums, not a mean of ratios.

    Args:
        acc_config: ... x V x 133 accuracies in percent.
        models: V names.
        reference: the model that is 100 % everywhere.

    Returns:
        ... x V x 49, in the order of `robustlib.metrics.configurations.corruption_columns`; NaN where the reference
        makes no error.

    Raises:
        UnknownNameError: the reference is not among the models.
    """
    if reference not in models:
        raise UnknownNameError("reference model", reference, models)
    errors = 100 - np.asarray(acc_config, np.float64)
    if errors.ndim < 2 or errors.shape[-2] != len(models):
        raise InvalidValueError(f"acc_config must hold {len(models)} models x 133 configurations, got {errors.shape}.")
    sums = np.stack([errors[..., columns].sum(axis=-1) for columns in corruption_columns().values()], axis=-1)
    of_reference = sums[..., [list(models).index(reference)], :]
    return 100 * ratio(sums, of_reference)


def mean_corruption_error(errors: ArrayLike) -> Array:
    """Return the mean of the corruption errors over the 49 types (mCE), in percent: ... from ... x 49.

    Types in which the reference makes no error have none: they are left out, and NaN is what is left of none.
    """
    return mean_of_defined(errors)


def mean_corruption_error_by_category(errors: ArrayLike) -> dict[str, Array]:
    """Return the mean of the corruption errors over the types of each of the ten categories, in percent; as above."""
    values = np.asarray(errors, np.float64)
    return {category: mean_of_defined(values[..., types]) for category, types in category_types().items()}
