"""Rows of the predictions table: what a model said, beside what it was asked and what that is worth."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from robustlib.data import Dataset, Question
from robustlib.models.base import Answer, Status
from robustlib.scoring import Form, normalise_answer, read_option, vqa_accuracy
from robustlib.sweep.conditions import Item
from robustlib.sweep.store import SCHEMA


def make_rows(model: str, dataset: Dataset, items: Sequence[Item], answers: Sequence[Answer], form: Form) -> pa.Table:
    """Return a shard: one row per item, in order.

    A question with options is right (1) or wrong (0). Where the model made no choice among them, its response is read;
    a response that commits to none is no answer. A question without options is scored by VQA accuracy.

    Args:
        model: the column of that name.
        dataset: where the questions come from.
        items: what was asked.
        answers: one answer per item, in order.
        form: form of VQA accuracy.
    """
    source = {"model": model, "dataset": dataset.name, "split": dataset.split}
    rows = [source | _row(item, answer, form) for item, answer in zip(items, answers, strict=True)]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _row(item: Item, answer: Answer, form: Form) -> dict[str, Any]:
    variant = item.variant
    question = variant.question
    choice, status, rule = _read(question, answer)
    scored = _scored_text(question, answer, choice) if status == "ok" else ""
    return {
        "question_id": question.id,
        "group_id": variant.group_id,
        "image_id": question.image_id,
        "category": question.category,
        "kind": question.kind,
        "suite": variant.operation.partition("/")[0],
        "family": variant.family,
        "variant": variant.name,
        "severity": variant.severity,
        "treatment": item.treatment,
        "order": variant.order,
        "target": variant.target,
        "label": question.label,
        "choice": choice,
        "answer": scored,
        "response": answer.text or answer.reason,
        "status": status,
        "rule": rule,
        "score": _score(question, choice, scored, form) if status == "ok" else 0.0,
        "confidence": answer.confidence,
        "option_mass": answer.option_mass,
        "logits": answer.logits,
        "probs": _softmax(answer.logits),
        "seed": item.seed,
    }


def _read(question: Question, answer: Answer) -> tuple[int, Status, str]:
    """Return the chosen option, -1 for none, with the status and the rule by which it was read from the response."""
    if answer.status != "ok":
        return -1, answer.status, ""
    if answer.choice >= 0 or not question.options:
        return answer.choice, "ok", ""
    choice, status, rule = read_option(answer.text, question.options)
    return -1 if choice is None else choice, status, rule


def _scored_text(question: Question, answer: Answer, choice: int) -> str:
    return question.options[choice] if question.options else normalise_answer(answer.text)


def _score(question: Question, choice: int, scored: str, form: Form) -> float:
    return float(choice == question.label) if question.options else vqa_accuracy(scored, question.answers, form)


def _softmax(logits: Sequence[float] | None) -> list[float] | None:
    if logits is None:
        return None
    powers = np.exp(np.array(logits, np.float64) - max(logits))
    return [float(power) for power in powers / powers.sum()]
