import json
import subprocess
import sys
from math import nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robustlib.errors import RobustlibError, UnknownNameError
from robustlib.sweep import read_manifest, read_predictions, run_sweep, sweep_status
from robustlib.sweep.store import SCHEMA, read_coded_predictions, read_identity, read_shard, write_shard
from tests.sweep.toys import toy_plan

IDENTITY = {"model": {"name": "toy"}, "seed": 7}
TEXTS = st.text() | st.sampled_from(["None", "N/A", "007", "1.0", "NaN", "null", "", "True"])
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = {
    pa.string(): TEXTS,
    pa.int32(): st.integers(-1, 2**31 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float64(): FLOATS | st.none(),
    pa.list_(pa.float64()): st.lists(FLOATS) | st.none(),
    pa.list_(pa.int32()): st.lists(st.integers(-1, 9)),
}
ROWS = st.lists(st.fixed_dictionaries({field.name: VALUES[field.type] for field in SCHEMA}), max_size=4)
A_ROW: dict[str, Any] = {
    field.name: {pa.string(): "007", pa.list_(pa.float64()): None, pa.list_(pa.int32()): [0, -1]}.get(field.type, 1)
    for field in SCHEMA
}


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(rows=ROWS)
def test_a_shard_gives_back_what_was_written(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "shard.parquet"
    write_shard(path, table(rows), IDENTITY)
    assert read_shard(path).to_pylist() == rows
    assert read_identity(path) == IDENTITY


def test_equal_rows_make_equal_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_shard(tmp_path / name, table([A_ROW] * 5), IDENTITY)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_failed_write_leaves_neither_a_shard_nor_a_leftover(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write_shard(tmp_path / "shard.parquet", table([A_ROW]), {"score": nan})
    with pytest.raises(ValueError, match="field names"):
        write_shard(tmp_path / "shard.parquet", table([A_ROW]).drop_columns("seed"), IDENTITY)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / "shard.parquet"
    write_shard(path, table([A_ROW] * 3), IDENTITY)
    return path


@pytest.mark.parametrize("kept", [0, 3, 4, 100, -1])
def test_a_truncated_shard_is_named(shard: Path, kept: int) -> None:
    shard.write_bytes(shard.read_bytes()[:kept])
    with pytest.raises(RobustlibError, match=r"The shard .*shard\.parquet cannot be read"):
        read_shard(shard)


def test_a_flipped_byte_is_noticed_or_changes_nothing(shard: Path) -> None:
    whole, rows, noticed = shard.read_bytes(), read_shard(shard), 0
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    places = range(4, len(whole) - footer, 17)
    for place in places:
        shard.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        try:
            assert read_shard(shard).equals(rows)
        except RobustlibError as error:
            assert "cannot be read" in str(error)  # noqa: PT017  # both outcomes are right
            noticed += 1
    assert noticed > 0.9 * len(places)


def test_a_missing_shard_and_a_foreign_table_are_named(shard: Path) -> None:
    with pytest.raises(RobustlibError, match=r"lost\.parquet is missing"):
        read_shard(shard.with_name("lost.parquet"))
    pq.write_table(pa.table({"model": ["vilt"]}), shard)
    with pytest.raises(RobustlibError, match=r"shard\.parquet is no shard .*: its columns are \['model'\]"):
        read_shard(shard)
    pq.write_table(table([A_ROW]), shard)
    with pytest.raises(RobustlibError, match="does not say where it comes from"):
        read_identity(shard)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sweep")
    run_sweep(toy_plan(), out)
    return out


@pytest.fixture
def copy(sweep: Path, tmp_path: Path) -> Path:
    """A copy of the sweep that a test may damage."""
    for path in sweep.rglob("*.*"):
        target = tmp_path / path.relative_to(sweep)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    return tmp_path


def test_only_the_asked_columns_are_read_in_the_asked_order(sweep: Path) -> None:
    rows = read_predictions(sweep, columns=["score", "model"])
    assert list(rows.columns) == ["score", "model"]
    assert rows.equals(read_predictions(sweep)[["score", "model"]])


def test_coded_predictions_are_the_same_with_categories_in_the_order_of_their_names(sweep: Path) -> None:
    columns = ["variant", "severity", "response", "score", "model"]
    coded, plain = read_coded_predictions(sweep, columns), read_predictions(sweep, columns)
    assert coded.astype(plain.dtypes).equals(plain)
    for name in ("variant", "response", "model"):
        assert list(coded[name].cat.categories) == sorted(set(plain[name]))


def test_an_unknown_column_lists_the_known_ones(sweep: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown column 'scores'\. Did you mean 'score'"):
        read_predictions(sweep, columns=["scores"])


def test_no_folder_no_sweep_and_a_broken_manifest_are_told_apart(copy: Path, tmp_path: Path) -> None:
    with pytest.raises(RobustlibError, match="no such folder"):
        read_predictions(tmp_path / "nowhere")
    (copy / "manifest.json").write_text("{")
    with pytest.raises(RobustlibError, match=r"manifest\.json is damaged"):
        read_manifest(copy)
    (copy / "manifest.json").unlink()
    with pytest.raises(RobustlibError, match="holds no finished sweep"):
        read_predictions(copy)


def test_a_missing_a_truncated_and_a_changed_shard_are_named(copy: Path) -> None:
    lost, truncated, changed, *_ = [copy / shard["path"] for shard in read_manifest(copy)["shards"]]
    write_shard(changed, read_shard(changed).slice(1), read_identity(changed))
    with pytest.raises(RobustlibError, match=f"{changed} was changed"):
        read_predictions(copy)
    truncated.write_bytes(truncated.read_bytes()[:99])
    with pytest.raises(RobustlibError, match=f"{truncated} cannot be read"):
        read_predictions(copy)
    lost.unlink()
    with pytest.raises(RobustlibError, match=f"{lost} is missing"):
        read_predictions(copy)


def test_shards_that_the_manifest_does_not_list_are_not_read(copy: Path) -> None:
    extra = next(copy.rglob("*.parquet"))
    extra.with_name("extra.parquet").write_bytes(extra.read_bytes())
    assert len(read_predictions(copy)) == read_manifest(copy)["rows"]


def test_a_manifest_holds_neither_time_nor_place(sweep: Path, tmp_path: Path) -> None:
    run_sweep(toy_plan(), tmp_path)
    assert (tmp_path / "manifest.json").read_bytes() == (sweep / "manifest.json").read_bytes()
    assert str(sweep) not in json.dumps(read_manifest(sweep))


def test_status_needs_a_sweep(tmp_path: Path, sweep: Path) -> None:
    with pytest.raises(RobustlibError, match=r"holds no sweep: it has no plan\.json"):
        sweep_status(tmp_path)
    plan = tmp_path / "plan.json"
    plan.write_text('{"shards": 5}')
    with pytest.raises(RobustlibError, match=r"plan\.json is damaged \(it lists no shards\)"):
        sweep_status(tmp_path)
    with pytest.raises(RobustlibError, match=r"no predictions in .*plan\.json: no such folder"):
        sweep_status(plan)
    status = sweep_status(sweep)
    assert (status.done, status.failed, status.remaining) == (14, 0, 0)
    assert status.statuses == {"ok": 154}


def test_predictions_are_read_without_a_model_library(sweep: Path) -> None:
    code = (
        "import sys, robustlib; robustlib.read_predictions(sys.argv[1]); print({'torch', 'numba'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code, sweep], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
