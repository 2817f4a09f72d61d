"""Results: which one serves a call, and how they lie on disk."""

from __future__ import annotations

import dataclasses
import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cache import CacheWarning
from dslc.tuner.records import Environment, Record, bucket, nearest
from dslc.tuner.store import TuningStore, export_file, import_file, parse, render
from hypothesis import given
from hypothesis import strategies as st

HERE = Environment("gemm", "cuda:sm_90a", "source", "compiler", "nvrtc 13.0")


def record(m: int, storage: str = "", **more: object) -> Record:
    fields = {
        "environment": HERE, "device": "H200", "driver": "CUDA 13.0",
        "dims": {"M": m, "K": 4096}, "fixed": ("K",), "exact": ("K",) if storage else (),
        "config": {"BM": m}, "storage": storage, "seconds": 1e-5, "default_seconds": 2e-5,
        "tried": 3, "date": "2026-11-20T00:00:00+00:00",
    }  # fmt: skip
    return Record(**{**fields, **more})  # type: ignore[arg-type]


def best(records: list[Record], **sizes: int) -> int | None:
    found = nearest(records, sizes.get)
    return None if found is None else found.dims["M"]


@given(st.integers(1, 1 << 40))
def test_a_bucket_holds_the_sizes_up_to_its_power_of_two(size: int) -> None:
    assert size <= 2 ** bucket(size) < 2 * size


def test_the_nearest_bucket_above_serves() -> None:
    records = [record(m) for m in (16, 64, 4096)]
    for m, expected in ((1, 16), (16, 16), (17, 64), (64, 64), (100, None), (300, 4096)):
        assert best(records, M=m, K=4096) == expected, m
    assert best(records, M=5000, K=4096) is None
    assert best(records, M=16, K=2048) is None
    assert best([], M=16, K=4096) is None


def test_where_a_size_is_not_known_the_largest_serves() -> None:
    assert best([record(m) for m in (16, 4096, 64)], K=4096) == 4096


def test_where_weights_are_stored_some_record_always_serves() -> None:
    records = [record(m, "packed") for m in (16, 64)]
    for m, expected in ((1, 16), (17, 64), (5000, 64), (100000, 64)):
        assert best(records, M=m, K=4096) == expected, m
    assert best(records, M=16, K=2048) is None, "other weights"
    fixed = [record(16, "packed", fixed=("K", "M"))]
    assert best(fixed, M=17, K=4096) == 16


def test_fixed_sizes_are_exact() -> None:
    records = [record(16, fixed=("K", "M"))]
    assert best(records, M=16, K=4096) == 16
    assert best(records, M=15, K=4096) is None


def test_records_are_read_as_they_were_written() -> None:
    records = [record(16), record(64, "packed", config={"BM": 64, "T": "bf16"}, complete=False)]
    assert list(parse(render(records))) == records


@pytest.mark.parametrize(
    "change",
    [
        {"dims": {"M": "16", "K": 1}},
        {"dims": {"M": 16}},
        {"seconds": "fast"},
        {"seconds": 1e999},
        {"fixed": [["K"]]},
        {"config": {"BM": [1]}},
        {"environment": {"kernel": "gemm"}},
        {"extra": 1},
        {"complete": 1},
    ],
)
def test_another_form_is_refused(change: dict[str, object]) -> None:
    data = json.loads(render([record(16)]))
    data["records"][0].update(change)
    with pytest.raises(ValueError):
        list(parse(json.dumps(data)))


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "[]", '{"format": 1, "records": 3}'])
def test_what_is_no_file_of_results_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"it |line"):
        list(parse(text))


def test_the_store_keeps_one_result_for_each_size(tmp_path: Path) -> None:
    store = TuningStore(tmp_path)
    assert not store.has("gemm")
    store.add([record(16), record(64)])
    store.add([record(16, seconds=5e-6)])
    assert store.has("gemm")
    assert not store.has("gem")
    assert [(r.dims["M"], r.seconds) for r in store.records(HERE)] == [(16, 5e-6), (64, 1e-5)]
    other = dataclasses.replace(HERE, compiler="another")
    assert store.records(other) == []
    store.add([record(16, environment=other), record(16, device="A100")])
    assert len(store.all()) == 4
    assert store.remove([record(64), record(99)]) == 1
    assert len(store.all()) == 3
    (path, _) = sorted((tmp_path / "tuning").glob("*.json"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not list((tmp_path / "tuning").glob("*.lock"))


def test_any_number_of_writers_may_share_it(tmp_path: Path) -> None:
    store = TuningStore(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda m: store.add([record(m)]), range(1, 25)))
    assert len(store.records(HERE)) == 24


def test_a_damaged_file_is_a_warning(tmp_path: Path) -> None:
    store = TuningStore(tmp_path)
    store.add([record(16)])
    (path,) = (tmp_path / "tuning").glob("*.json")
    path.write_text(path.read_text()[:-40])
    with pytest.warns(CacheWarning, match="is not used"):
        assert store.records(HERE) == []
    with pytest.warns(CacheWarning):
        store.add([record(16)])
    assert store.records(HERE) == [record(16)]


def test_files_travel(tmp_path: Path) -> None:
    assert export_file(tmp_path / "tuned.json", [record(16)]) == 1
    assert import_file(tmp_path / "tuned.json") == [record(16)]
    (tmp_path / "other.json").write_text("{}")
    for name in ("other.json", "nowhere.json"):
        with pytest.raises(DiagnosticError) as caught:
            import_file(tmp_path / name)
        assert caught.value.diagnostics[0].code == "DSL0922"
