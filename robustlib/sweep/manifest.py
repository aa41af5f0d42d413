"""The manifest: what a whole sweep asked, of which models, and what came of it."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from robustlib.errors import RobustlibError
from robustlib.sweep.plan import Job, Plan
from robustlib.sweep.store import count_statuses, file_hash, read_manifest, read_shard


class FailedAnswersError(RobustlibError):
    """A finished sweep in which some answers have the status "error"."""


def make_manifest(plan: Plan, out: Path) -> dict[str, Any]:
    """Return the record of a sweep whose shards are all there; equal sweeps have equal records."""
    shards = [_shard_record(out, job) for job in plan.jobs]
    identity = plan.jobs[0].identity
    return {
        "profile": asdict(plan.profile),
        "datasets": {job.dataset: job.identity["dataset"] for job in plan.jobs},
        "models": {job.model: job.identity["model"] for job in plan.jobs},
        "versions": identity["versions"],
        "code": identity["code"],
        "rows": sum(shard["rows"] for shard in shards),
        "statuses": dict(sum((Counter(shard["statuses"]) for shard in shards), Counter())),
        "shards": shards,
    }


def raise_on_failed_answers(out: Path) -> None:
    """Raise if a finished sweep holds answers with the status "error".

    Raises:
        FailedAnswersError: it does; the message counts them and says what went wrong with the first.
    """
    manifest = read_manifest(out)
    failed = manifest["statuses"].get("error", 0)
    if not failed:
        return
    first = next(shard for shard in manifest["shards"] if "error" in shard["statuses"])
    rows = read_shard(out / first["path"], ["question_id", "response", "status"]).to_pylist()
    row = next(row for row in rows if row["status"] == "error")
    raise FailedAnswersError(
        f"{failed} of {manifest['rows']} answers in {out} have the status 'error'; the first is {first['model']} on "
        f"question {row['question_id']}: {' '.join(row['response'].split())} "
        "(To ask again: the same sweep with --retry-failed, or retry_failed=True.)"
    )


def _shard_record(out: Path, job: Job) -> dict[str, Any]:
    statuses = count_statuses(out / job.path)
    return {
        "path": job.path.as_posix(),
        "key": job.key,
        "sha256": file_hash(out / job.path),
        "dataset": job.dataset,
        "model": job.model,
        "condition": asdict(job.condition),
        "rows": sum(statuses.values()),
        "statuses": statuses,
    }
