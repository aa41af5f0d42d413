"""Does a model use the image at all? The third document's control: another image, no image, chance and majority."""

import pandas as pd

_PLACES = ["model", "dataset", "split"]
_NUMBERS = {
    "clean_accuracy": ("clean", "accuracy"),
    "shuffled_accuracy": ("image_shuffle", "accuracy"),
    "no_image_accuracy": ("text_only", "accuracy"),
    "chance_accuracy": ("clean", "chance_accuracy"),
    "majority_accuracy": ("image_shuffle", "majority_accuracy"),
    "shuffled_change": ("image_shuffle", "accuracy_change"),
    "no_image_change": ("text_only", "accuracy_change"),
}
_BOUNDED = ("clean_accuracy", "shuffled_change", "no_image_change")


def image_use(summary: pd.DataFrame) -> pd.DataFrame:
    """Put the controls of every model and data set side by side, and judge them.

    A model is said to use the image where another question's image costs it accuracy beyond sampling noise: the 95 %
    interval of the paired change lies below 0. Removing the image is no such test, as it also takes the model out of
    what it was trained on.

    Args:
        summary: from `robustlib.metrics.family_summary`.

    Returns:
        One row for each model and data set that was asked with shuffled images: ``model``, ``dataset``, ``split``;
        ``clean_accuracy``, ``shuffled_accuracy``, ``no_image_accuracy``, ``chance_accuracy``, ``majority_accuracy``,
        ``shuffled_change``, ``no_image_change``, NaN where unknown; bounds of the clean accuracy and the two changes,
        with ``_low`` and ``_high`` behind their names; ``uses_image``; and ``beats_majority``, whether the clean
        accuracy is above that of always giving the commonest label, noise included, False where either is unknown.
    """
    whole = summary[summary["variant"] == ""]
    shuffled = (whole["family"] == "image_shuffle") & (whole["metric"] == "accuracy_change")
    table = whole.loc[shuffled, _PLACES].reset_index(drop=True)
    places = pd.MultiIndex.from_frame(table)
    for name, (family, metric) in _NUMBERS.items():
        cell = (whole["family"] == family) & (whole["metric"] == metric)
        found = whole[cell].set_index(_PLACES)[["value", "low", "high"]].reindex(places)
        table[name] = found["value"].to_numpy()
        if name in _BOUNDED:
            table[[f"{name}_low", f"{name}_high"]] = found[["low", "high"]].to_numpy()
    uses, beats = table["shuffled_change_high"] < 0, table["clean_accuracy_low"] > table["majority_accuracy"]
    return table.assign(uses_image=uses, beats_majority=beats)
