"""The figures of the third document, under the names that `robustlib.metrics.family_summary` gives its own."""

import pandas as pd

from robustlib.data.published import published_table

_METRICS = {
    "acc": "accuracy",
    "base_acc": "clean_accuracy",
    "delta_acc": "accuracy_change",
    "balanced_acc": "balanced_accuracy",
    "chance": "chance_accuracy",
    "acc_by_order": "accuracy_by_order",
    "acc_spread": "accuracy_spread_by_order",
    "acc_by_gold_position": "accuracy_by_position",
    "majority_label_acc": "majority_accuracy",
    "agree_with_text_only": "agreement_with_text_only",
    "pick_distractor_rate": "distractor_pick_rate",
    "mean_abs_logodds_shift": "abs_logit_shift",
    "mean_logodds_shift": "logit_shift",
    "mean_abs_logodds_shift_cal": "abs_log_odds_shift",
    "mean_p_max": "confidence",
    "share_p_max_gt_0.5": "confidence_above_half",
    "share_p_max_gt_0.8": "confidence_above_0.8",
    "base_mean_p_max": "clean_confidence",
    "base_share_p_max_gt_0.8": "clean_confidence_above_0.8",
    "mean_p_none": "none_probability",
    "argmax_agree": "agreement",
    "mean_signed_gap": "gap",
    "abs_gap.mean": "abs_gap",
    "abs_gap.p50": "abs_gap_p50",
    "abs_gap.p90": "abs_gap_p90",
    "abs_gap.max": "abs_gap_max",
    "row_acc": "yes_no_accuracy",
    "p_yes_sum.mean": "yes_sum",
    "p_yes_sum.min": "yes_sum_min",
    "p_yes_sum.max": "yes_sum_max",
    "n_incomplete": "incomplete",
    "complement_sum.mean": "complement_sum",
    "complement_sum_mean": "complement_sum",
    "complement_sum.min": "complement_sum_min",
    "complement_sum.max": "complement_sum_max",
    "complement_abs_dev": "complement_deviation",
    "complement_sum.share_outside": "complement_outside",
    "share_outside": "complement_outside",
    "base_on_target": "clean_on_target",
    "delta_p_target": "target_probability_change",
    "delta_accuracy": "accuracy_change",
}
"""The document's names, as its files and as its printed tables have them."""

_INVARIANCE = {
    "max_abs_dprob": "max_probability_change",
    "mean_abs_dprob": "mean_probability_change",
    "max_abs_dlogit": "max_logit_change",
    "mean_abs_dlogit": "mean_logit_change",
    "n_flips": "flips",
    "n_exact": "exact",
}
_COUNTS = ("n_groups", "n_rows", "n_clusters")


def laya_summary() -> pd.DataFrame:
    """Return every published number about the families: 1,681 of them, for seven data sets and their mean.

    Returns:
        Text columns ``dataset`` ("macro" for the mean), ``family``, ``variant`` ("" for all of the family) and
        ``metric``; floats ``value``, ``low``, ``high``, ``groups``, ``rows`` and ``clusters``, NaN where the authors
        give none.

    Raises:
        PublishedDataError: a file is not as it was.
    """
    columns = ["dataset", "family", "variant", "metric", "value", "ci_low", "ci_high", *_COUNTS]
    files = [published_table("laya_main", columns, rows=909), published_table("laya_extensions", columns, rows=835)]
    frame = pd.concat(files, ignore_index=True).drop_duplicates(columns[:4])
    frame[columns[4:]] = frame[columns[4:]].apply(pd.to_numeric)
    frame["family"] = frame["family"].replace("orig", "clean")
    frame["variant"] = frame["variant"].str.replace(":", " ")
    frame["metric"] = frame["metric"].replace(_METRICS)
    bounds = {"ci_low": "low", "ci_high": "high"}
    return frame.rename(columns=bounds | {name: name.removeprefix("n_") for name in _COUNTS}).reset_index(drop=True)


def laya_printed() -> pd.DataFrame:
    """Return the 273 numbers of the document's tables, as printed.

    Returns:
        Text columns ``table`` ("main", "ece", "ece_floor" or "injection"), ``dataset`` ("macro" for the mean),
        ``family``, ``variant``, ``metric`` and ``printed``.

    Raises:
        PublishedDataError: the file is not as it was.
    """
    frame = published_table("laya_printed", ["table", "dataset", "family", "metric", "printed"], rows=273)
    frame["dataset"] = frame["dataset"].replace("mean", "macro")
    families = frame["family"].str.partition("/")
    frame["family"] = families[0]
    frame.insert(3, "variant", families[2])
    frame["metric"] = frame["metric"].replace(_METRICS)
    return frame


def laya_floors() -> pd.DataFrame:
    """Return the document's calibration errors beside their noise floors, on the questions as they stand.

    Returns:
        A row for each of seven data sets: ``dataset``, ``ece``, ``floor_mean``, ``floor_p95``, ``clustered_floor_p95``
        (as printed, to three decimals), ``rows`` and ``clusters``.

    Raises:
        PublishedDataError: a file is not as it was.
    """
    printed = laya_printed()
    stated = printed[printed["table"] == "ece_floor"].astype({"printed": float})
    floors = stated.pivot_table("printed", "dataset", "metric")
    names = ["ece", "floor_mean", "floor_p95", "clustered_floor_p95"]
    published = laya_summary()
    counted = published[(published["family"] == "clean") & (published["metric"] == "ece")].set_index("dataset")
    counts = counted[["rows", "clusters"]].dropna().astype(int)
    return floors[names].join(counts, validate="one_to_one").rename_axis(columns=None).reset_index()


def laya_invariance() -> pd.DataFrame:
    """Return the document's invariance check on a GPU, under the names of `robustlib.metrics.invariance_summary`.

    Returns:
        A row for each of eleven ways of asking, as the document names them: ``condition``, ``rows``, four floats
        ``max_probability_change``, ``mean_probability_change``, ``max_logit_change``, ``mean_logit_change``, and
        ``flips`` and ``exact``, numbers of rows.

    Raises:
        PublishedDataError: the file is not as it was.
    """
    columns = ["dataset", "family", "variant", "metric", "value", "ci_low", "ci_high", *_COUNTS]
    frame = published_table("laya_invariance", columns, rows=66)
    counted = frame.groupby("variant", sort=False)["n_rows"].first().astype(int)
    wide = frame.astype({"value": float}).pivot_table("value", "variant", "metric").loc[counted.index]
    wide = wide.rename(columns=_INVARIANCE).assign(rows=counted).astype({"flips": int, "exact": int})
    return wide[["rows", *_INVARIANCE.values()]].rename_axis(index="condition", columns=None).reset_index()
