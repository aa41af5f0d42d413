import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from robustlib.data.published import PUBLISHED
from robustlib.metrics import AccuracyCube
from robustlib.report.vqa_evidence import Evidence, load_evidence
from robustlib.report.vqa_layout import GROUPS
from robustlib.sweep.store import SCHEMA, file_hash, write_shard

QUESTIONS = 10


@pytest.fixture(scope="session")
def published() -> Evidence:
    """The authors' accuracies."""
    return load_evidence(PUBLISHED)


@pytest.fixture(scope="session")
def evidence_of_size() -> dict[int, Evidence]:
    """Evidence with one, two or four models; with two, fewer corruptions and one that the benchmark does not have."""
    generator = np.random.default_rng(0)
    found = {}
    for count, corruptions in {
        1: [name for names in GROUPS.values() for name in names],
        2: ["snow", "contrast", "pixelate", "fog_of_war"],
        4: [name for names in GROUPS.values() for name in names],
    }.items():
        accuracy = np.sort(generator.uniform(0.2, 0.9, (count, len(corruptions), 6)), axis=2)[:, :, ::-1]
        accuracy[:, :, 0] = 0.9 - 0.05 * np.arange(count)[:, None]
        models = tuple(f"pocket/model-{number}" for number in range(count))
        cube = AccuracyCube(models, tuple(corruptions), accuracy, 1935)
        found[count] = Evidence("a sweep", cube, {model: 2e6 * (place + 1) for place, model in enumerate(models)})
    return found


@pytest.fixture(scope="session")
def sweep_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of a finished sweep over two models, as the sweep room stores it."""
    folder, shards = tmp_path_factory.mktemp("predictions"), []
    corruptions = [name for names in reversed(GROUPS.values()) for name in names]
    conditions = [("", "clean", "clean", 0)]
    conditions += [("vqa_bench", "corruption", name, level) for name in corruptions for level in range(1, 6)]
    models = {"pocket/vilt": {"parameters": 2_100_000}, "pocket/blip": {"parameters": 3_400_000}}
    for weakness, model in enumerate(models):
        for number, condition in enumerate(conditions):
            path = folder / "shards" / model / f"{number}.parquet"
            write_shard(path, _rows(model, condition, weakness), {"model": model, "condition": list(condition)})
            shards.append({"path": path.relative_to(folder).as_posix(), "sha256": file_hash(path)})
    (folder / "manifest.json").write_text(json.dumps({"profile": {}, "models": models, "shards": shards}))
    return folder


def _rows(model: str, condition: tuple[str, str, str, int], weakness: int) -> pa.Table:
    suite, family, variant, severity = condition
    wrong = 1 + weakness + (severity * len(variant)) // 12  # of QUESTIONS, so that no accuracy is 0 or 1
    frame = pd.DataFrame({"question_id": [f"test-{number:06}" for number in range(QUESTIONS)]})
    frame = frame.assign(
        model=model,
        dataset="easy_vqa",
        split="test",
        group_id=frame["question_id"],
        image_id="test-1",
        category="shape",
        kind="open",
        suite=suite,
        family=family,
        variant=variant,
        severity=severity,
        treatment="",
        order=pd.Series([[]] * QUESTIONS, dtype=object),
        target=-1,
        label=-1,
        choice=-1,
        answer="circle",
        response="circle",
        status=["ok" if number else "no_answer" for number in range(len(frame))],
        rule="",
        score=[0.0 if number < wrong else 1.0 for number in range(len(frame))],
        confidence=None,
        option_mass=None,
        logits=None,
        probs=None,
        seed=7,
    )
    return pa.Table.from_pandas(frame, SCHEMA, preserve_index=False)
