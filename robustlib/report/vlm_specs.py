"""The tables of VLM-RobustBench, one row each: which numbers of which frame, about which rows, under which heading.

Numbers of tables are those of the document. Tables 13 and 14, and 15 to 17, are one each here.
"""

from robustlib.metrics.configurations import LEVELS, category_types
from robustlib.metrics.drops import TIERS
from robustlib.metrics.statuses import STATUSES
from robustlib.metrics.vlm_statistics import ALL_LEVELS
from robustlib.report.vlm_spec import Spec, best_model, category_label, first_of, only, several_modes, top

SPATIAL_EXAMPLES = ("upsample:high", "elastic_transform:high", "zoom_blur:high")
PHOTOMETRIC_EXAMPLES = ("jpeg_compression:high", "gaussian_noise:high")
NAMED = ("glass_blur:low", "solarize:low", *SPATIAL_EXAMPLES, "shot_noise:high", "pixelate:high", "downsample:high")
"""Configurations that the document's text names for what they cost (Sections 1, 5.3 and 5.8)."""

_DATA = {"dataset": "Data"}
_MODEL = _DATA | {"model": "Model"}
_COMPARED = _MODEL | {"reference": "Reference"}
_CONFIGURATION = _DATA | {"configuration": "Configuration"}
_DROP = {"drop": (r"$\Delta$ (points)", 1)}
_CATASTROPHIC = {"p_catastrophic": ("P(catastrophic)", 2)}
_FLIPS = {"flip_plus": ("Flip+ (%)", 1), "flip_minus": ("Flip- (%)", 1)}
_RATIO = {"flip_ratio": ("Flip+/Flip-", 2)}
_MISMATCH = {
    "violation_rate": ("Violations (%)", 1),
    "severity_correlation": (r"Mean $\rho$", 2),
    "undefined_correlations": (r"Undefined $\rho$", 0),
}
_LEVELED = only("level", *LEVELS)
_ONE_MODE = "no family was asked in more than one mode"

SPECS: tuple[Spec, ...] = (
    Spec(
        "table2",
        "The models, with their numbers of parameters.",
        "models",
        {"model": "Model", "family": "Family", "checkpoint": "Checkpoint", "mode": "Mode"},
        {"parameters": ("Parameters", 0)},
        (first_of("model"),),
    ),
    Spec(
        "table3",
        "Main summary: clean accuracy, visual gain (VG), largest drop over all 133 configurations, share of them that "
        "cost more than a tenth of the clean accuracy, largest drop over the 42 low ones, share of these that cost at "
        "most one point, mean relative corruption error, and answers that could not be had or read. The interval of a "
        "largest drop lies high, as a largest one is large by luck too.",
        "models",
        _MODEL,
        {
            "clean_accuracy": ("Clean (%)", 1),
            "visual_gain": ("VG (points)", 1),
            "worst_case_drop": ("Worst case (points)", 1),
            "severe_failure_rate": ("Severe failures (%)", 1),
            "worst_at_low": ("Worst@Low (points)", 1),
            "benign_at_low": ("Benign@Low (%)", 1),
            "mrce": ("mRCE (%)", 1),
            "unread_clean": ("Unread, clean (%)", 1),
            "unread_corrupted": ("Unread, corrupted (%)", 1),
        },
    ),
    Spec(
        "table4",
        "Mean drop under the binary transforms, and how likely it is catastrophic (above 10 points).",
        "means",
        {"configuration": "Transform"},
        _DROP | _CATASTROPHIC,
        (only("level", "binary"),),
        across="dataset",
    ),
    Spec(
        "table5",
        "The ten configurations with the largest mean relative corruption error (RCE).",
        "means",
        _CONFIGURATION,
        {"rce": ("RCE (%)", 1)} | _DROP,
        (top(10, "rce", "dataset"),),
        absent="no model has a visual gain",
    ),
    Spec(
        "table6",
        "Mean corruption error (mCE) over the 49 types, in percent of the reference's, the model of the lowest clean "
        "accuracy among those that means are of. Types in which the reference makes no error are left out.",
        "models",
        _COMPARED,
        {"mce": ("mCE (%)", 1), "undefined_errors": ("Types left out", 0)},
    ),
    Spec(
        "table7",
        "The worst of the 133 configurations for each model.",
        "configurations",
        _CONFIGURATION | {"model": "Model"},
        _DROP | _CATASTROPHIC,
        (top(1, "drop", "dataset", "model"),),
    ),
    Spec(
        "table8",
        "The five categories of questions with the largest mean drop.",
        "categories",
        _DATA | {"category": "Category"},
        {"questions": ("Questions", 0)} | _DROP,
        (top(5, "drop", "dataset"),),
    ),
    Spec(
        "table9",
        "Slope of the mean drop on log10(parameters) within each family; negative where larger models lose less.",
        "slopes",
        _DATA | {"family": "Family"},
        {"scaling_slope": ("Slope (points)", 2)},
        absent="no family has models of two sizes",
    ),
    Spec(
        "table10",
        "Clean accuracy and mean drop over the 133 configurations by the mode in which a model is asked.",
        "models",
        _MODEL | {"mode": "Mode"},
        {"clean_accuracy": ("Clean (%)", 1), "mean_drop": (r"Mean $\Delta$ (points)", 2)},
        (several_modes,),
        absent=_ONE_MODE,
    ),
    Spec(
        "table11",
        "Shares of the 133 configurations in each tier by the mode in which a model is asked.",
        "models",
        _MODEL | {"mode": "Mode"},
        {f"{tier}_share": (f"{tier.capitalize()} (%)", 1) for tier in TIERS},
        (several_modes,),
        absent=_ONE_MODE,
    ),
    Spec(
        "table12",
        "Mean drop by family for configurations that the document names.",
        "families",
        _CONFIGURATION,
        _DROP,
        (only("configuration", *NAMED, "flip_v", "invert"),),
        across="family",
    ),
    Spec(
        "tables13_14",
        "The five configurations of each level that cost each model most.",
        "configurations",
        _MODEL | {"level": "Level", "configuration": "Configuration"},
        _DROP | _CATASTROPHIC,
        (_LEVELED, top(5, "drop", "dataset", "model", "level")),
    ),
    Spec(
        "tables15_16_17",
        "Mean drop of each family under every corruption that has levels.",
        "families",
        _DATA | {"family": "Family", "corruption": "Corruption"},
        _DROP,
        (_LEVELED,),
        across="level",
    ),
    Spec(
        "table18",
        "How many configurations of all models are in each tier, by level.",
        "levels",
        _DATA | {"level": "Level"},
        {f"{tier}_count": (tier.capitalize(), 0) for tier in TIERS},
    ),
    Spec(
        "table19",
        "Shares of the 133 configurations in each tier, by model.",
        "models",
        _MODEL,
        {f"{tier}_share": (f"{tier.capitalize()} (%)", 1) for tier in TIERS},
    ),
    Spec(
        "table20",
        "Mean relative corruption error (RCE) and mean drop by level.",
        "levels",
        _DATA | {"level": "Level"},
        {"mean_rce": ("RCE (%)", 1), "mean_drop": (r"$\Delta$ (points)", 2)},
    ),
    Spec(
        "table21",
        "Answer-flip rates of the model with the highest clean accuracy under spatial and photometric corruptions.",
        "configurations",
        _MODEL | {"configuration": "Configuration"},
        {"flip_plus": ("Flip+ (%)", 1)},
        (best_model, only("configuration", *SPATIAL_EXAMPLES, *PHOTOMETRIC_EXAMPLES)),
    ),
    Spec(
        "table22",
        "Harmful (Flip+) and helpful (Flip-) flips of answers, in percent of all questions, by level.",
        "levels",
        _DATA | {"level": "Level"},
        _FLIPS | _RATIO,
    ),
    Spec(
        "table23",
        "Harmful (Flip+) and helpful (Flip-) flips of answers, in percent of all questions, by model.",
        "models",
        _MODEL,
        _FLIPS | _RATIO,
    ),
    Spec(
        "table24",
        "Mean harmful (Flip+) and helpful (Flip-) flips of answers under the binary transforms.",
        "means",
        {"configuration": "Transform"},
        _FLIPS,
        (only("level", "binary"),),
        across="dataset",
    ),
    Spec(
        "table25",
        "Answer-flip rates (Flip+, in percent of all questions) of each model under spatial and photometric "
        "corruptions.",
        "configurations",
        _MODEL,
        {"flip_plus": ("Flip+ (%)", 1)},
        (only("configuration", *SPATIAL_EXAMPLES, *PHOTOMETRIC_EXAMPLES),),
        across="configuration",
    ),
    Spec(
        "table26",
        "Severity mismatch: share of corruptions and models for which a stronger level costs less than a weaker one, "
        "and mean Spearman correlation between level and drop over those where it is defined.",
        "overall",
        _DATA,
        _MISMATCH,
    ),
    Spec(
        "table27",
        "Catastrophic cases (a drop above 10 points) of all models, and the share of them that comes from spatial and "
        "resampling corruptions.",
        "overall",
        _DATA,
        {"catastrophic_count": ("Catastrophic", 0), "tail_share": ("Spatial (%)", 1)},
    ),
    Spec(
        "table28",
        "Mean corruption error (mCE, in percent of the reference's) by category of corruptions.",
        "models",
        _COMPARED,
        {f"mce_{category}": (category_label(category), 1) for category in category_types()},
    ),
    Spec(
        "corruption_errors",
        "Corruption error (CE, in percent of the reference's) by type; undefined where the reference makes no error.",
        "errors",
        _DATA | {"reference": "Reference", "corruption": "Corruption"},
        {"ce": ("CE (%)", 1)},
        across="model",
    ),
    Spec(
        "severity_by_model",
        "Severity by model: mean relative corruption error (RCE) at each level, severity mismatch as in Table 26, and "
        "how many of the 133 configurations raise the accuracy.",
        "models",
        _MODEL,
        {f"mrce_at_{level}": (f"RCE, {level} (%)", 1) for level in ALL_LEVELS}
        | _MISMATCH
        | {"positive_count": ("Positive", 0)},
    ),
    Spec(
        "positive_augmentations",
        "The ten configurations that raise the mean accuracy most (Appendix A.6 of the document), and how likely they "
        "do.",
        "means",
        _CONFIGURATION,
        _DROP | {"p_positive": ("P(positive)", 2)},
        (only("tier", "positive"), top(10, "drop", "dataset", smallest=True)),
        absent="nothing raises the mean accuracy",
    ),
    Spec(
        "tier_certainty",
        "How many of the 133 configurations are in each tier, and of how many this is sure: at least 95 % of the "
        "resamples have the drop in the same tier.",
        "certainty",
        _MODEL,
        {"configurations": ("all", 0), "sure": ("sure", 0)},
        across="tier",
    ),
    Spec(
        "configurations",
        "All 133 configurations of each model: accuracy, drop and the tier that it is in, with the probability of each "
        "tier, relative corruption error and flips.",
        "configurations",
        _MODEL | {"configuration": "Configuration", "tier": "Tier"},
        {"accuracy": ("Accuracy (%)", 1)}
        | _DROP
        | {f"p_{tier}": (f"P({tier})", 2) for tier in TIERS}
        | {"rce": ("RCE (%)", 1)}
        | _FLIPS,
    ),
    Spec(
        "statuses",
        "Share of answers by status under each condition. Answers that are not ok are wrong and count.",
        "statuses",
        _MODEL | {"condition": "Condition"},
        {"rows": ("Answers", 0)} | {status: (f"{status.replace('_', ' ')} (%)", 1) for status in STATUSES},
    ),
)
"""In the order of the document, then what goes beyond it. Tables 1 and 29 need no answers: see `vlm_taxonomy`."""
