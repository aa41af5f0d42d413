"""Scoring: from what a model said to a number between 0 and 1."""

from robustlib.scoring.vqa import FORMS, Form, normalise_answer, vqa_accuracy

__all__ = ["FORMS", "Form", "normalise_answer", "vqa_accuracy"]
