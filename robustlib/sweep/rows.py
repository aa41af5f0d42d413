"""Rows of the predictions table: what a model said, beside what it was asked and what that is worth."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from robustlib.corruptions import image_seed
from robustlib.data import Question
from robustlib.models.base import Answer
from robustlib.scoring import Form, normalise_answer, vqa_accuracy
from robustlib.sweep.plan import Job, Plan
from robustlib.sweep.store import SCHEMA


def make_rows(plan: Plan, job: Job, answers: Sequence[Answer]) -> pa.Table:
    """Return the shard of a job: one row per question of the plan's data set, in its order.

    Args:
        plan: the plan the job belongs to.
        job: model and condition.
        answers: one answer per question, in order.
    """
    condition, profile = job.condition, plan.profile
    same_in_all = {
        "model": job.model,
        "dataset": plan.dataset.name,
        "split": plan.dataset.split,
        "suite": condition.suite,
        "family": condition.family,
        "variant": condition.variant,
        "severity": condition.severity,
    }
    rows = [
        same_in_all
        | {
            "question_id": question.id,
            "group_id": question.id,
            "image_id": question.image_id,
            "category": question.category,
            "kind": question.kind,
            "label": question.label,
            "choice": answer.choice,
            "answer": _scored_text(question, answer),
            "response": answer.text or answer.reason,
            "status": answer.status,
            "score": _score(question, answer, profile.scoring),
            "confidence": answer.confidence,
            "logits": answer.logits,
            "probs": _softmax(answer.logits),
            "seed": image_seed(profile.base_seed, question.image_id),
        }
        for question, answer in zip(plan.dataset, answers, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _scored_text(question: Question, answer: Answer) -> str:
    if answer.status != "ok":
        return ""
    return question.options[answer.choice] if answer.choice >= 0 else normalise_answer(answer.text)


def _score(question: Question, answer: Answer, form: Form) -> float:
    if answer.status != "ok":
        return 0.0
    return vqa_accuracy(_scored_text(question, answer), question.answers, form)


def _softmax(logits: Sequence[float] | None) -> list[float] | None:
    if logits is None:
        return None
    powers = np.exp(np.array(logits, np.float64) - max(logits))
    return [float(power) for power in powers / powers.sum()]
