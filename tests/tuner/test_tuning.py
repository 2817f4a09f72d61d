"""A tuning from begin to end, on a bench whose times are known."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dslc
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.library import Library
from dslc.runtime.cache import CacheWarning
from dslc.tuner.bench import FULL, QUICK
from dslc.tuner.search import Progress
from dslc.tuner.tuning import Result

from support.tuning import DIMS, SOURCE, Config, StandIn, fail

Tuned = Callable[..., Result]


def wide_is_fast(config: Config) -> float:
    return 1e-5 if config["BM"] == 32 else 2e-5


def test_the_fastest_is_found_and_used_by_later_calls(lib: Library, tuned: Tuned) -> None:
    result = tuned(lib.gemm, StandIn(wide_is_fast), DIMS, top=12)
    assert result.record is not None
    assert result.config["BM"] == 32
    assert result.record.seconds == 1e-5
    assert result.record.default_seconds == 2e-5
    assert lib.gemm.specialize_for(DIMS).config == result.config
    # Explicit choices are explicit.
    assert lib.gemm.specialize_for(DIMS, {"BM": 16}).config == {"BM": 16, "BN": 64}


def test_another_process_would_use_it_too(lib: Library, tuned: Tuned, cache: Path) -> None:
    result = tuned(lib.gemm, StandIn(wide_is_fast), DIMS)
    again = dslc.compile(SOURCE, "cuda:sm_90a", cache=cache)
    assert again.gemm.specialize_for(DIMS).config == result.config
    other = dslc.compile(SOURCE + "\n\n# more\nconst X = 1\n", "cuda:sm_90a", cache=cache)
    assert other.gemm.specialize_for(DIMS).config == {"BM": 16, "BN": 64}


def test_without_a_cache_it_is_known_to_this_process_alone(cache: Path, tuned: Tuned) -> None:
    library = dslc.compile(SOURCE, "cuda:sm_90a", cache=False)
    result = tuned(library.gemm, StandIn(wide_is_fast), DIMS)
    assert library.gemm.specialize_for(DIMS).config == result.config
    assert not cache.exists()


def test_the_best_are_timed_again_with_full_effort(lib: Library, tuned: Tuned) -> None:
    bench = StandIn(wide_is_fast)
    tuned(lib.gemm, bench, DIMS, top=12)
    efforts = [effort for _, effort in bench.timed]
    assert efforts.count(QUICK) == 12
    assert 1 < efforts.count(FULL) < 12
    assert all(c["BM"] == 32 or c == {"BM": 16, "BN": 64} for c, e in bench.timed if e == FULL)
    assert bench.loaded == 0, "everything is given back"
    assert bench.most_loaded <= 8


def test_one_that_computes_something_else_is_dropped(lib: Library, tuned: Tuned) -> None:
    def wrong(config: Config) -> str | None:
        return "c: 3 of 9 differ" if config["BM"] == 32 else None

    result = tuned(lib.gemm, StandIn(wide_is_fast, wrong), DIMS, top=12)
    assert result.config["BM"] == 16
    assert {reason for _, reason in result.found.dropped} == {"c: 3 of 9 differ"}


def test_one_that_the_device_refuses_is_dropped(lib: Library, tuned: Tuned) -> None:
    bench = StandIn(lambda c: fail("too much shared memory") if c["BM"] == 32 else 1e-5)
    result = tuned(lib.gemm, bench, DIMS, top=12)
    assert result.config["BM"] == 16
    assert result.found.dropped


def test_nothing_that_runs_is_an_error(lib: Library, tuned: Tuned) -> None:
    with pytest.raises(DiagnosticError, match="no memory at all") as caught:
        tuned(lib.gemm, StandIn(lambda c: fail("no memory at all")), DIMS)
    assert caught.value.diagnostics[0].code == "DSL0921"


def test_ctrl_c_keeps_the_best_so_far(lib: Library, tuned: Tuned) -> None:
    count = 0

    def interrupted(config: Config) -> float:
        nonlocal count
        count += 1
        if count == 4:
            raise KeyboardInterrupt
        return 1e-5 * (5 - count)

    bench = StandIn(interrupted)
    result = tuned(lib.gemm, bench, DIMS, top=12)
    assert result.found.interrupted == "Ctrl-C"
    assert result.record is not None
    assert not result.record.complete
    assert result.record.seconds == pytest.approx(2e-5)
    assert lib.gemm.specialize_for(DIMS).config == result.config
    assert bench.loaded == 0


def test_the_budget_ends_it(lib: Library, tuned: Tuned) -> None:
    result = tuned(lib.gemm, StandIn(wide_is_fast), DIMS, top=12, budget=0.0)
    assert result.found.interrupted == "budget"
    assert result.config == {"BM": 16, "BN": 64}, "the default comes first"


def test_progress_is_told(lib: Library, tuned: Tuned) -> None:
    told: list[Progress] = []
    tuned(lib.scale, StandIn(lambda c: 1e-6), {"N": 4096}, report=told.append)
    phases = list(dict.fromkeys(p.phase for p in told))
    assert phases == ["predicting", "measuring", "finals"]
    last = [p for p in told if p.phase == "measuring"][-1]
    assert last.done == last.total
    assert last.seconds == 1e-6
    assert last.best


def test_settled_choices_stay(lib: Library, tuned: Tuned) -> None:
    bench = StandIn(wide_is_fast)
    settled = {"BM": 16, "warps": 2}
    result = tuned(lib.gemm, bench, DIMS, settled=settled, top=12)
    assert result.config["BM"] == 16
    others = [c for c, _ in bench.timed if c != {"BM": 16, "BN": 64}]
    assert others
    assert all(c.get("warps") == 2 and c["BM"] == 16 for c in others)


def test_open_dims_serve_their_bucket(lib: Library, tuned: Tuned) -> None:
    tuned(lib.scale, StandIn(lambda c: 1.0 / int(c["BN"])), {"N": 5000}, top=99)
    for size, wide in ((4097, True), (8192, True), (600, True), (8193, False), (200, False)):
        found = lib.scale.specialize_for({"N": size}).config["BN"]
        assert (found == 1024) == wide, size


def test_fixed_dims_are_compiled_in_for_their_sizes(lib: Library, tuned: Tuned) -> None:
    tuned(lib.scale, StandIn(lambda c: 1e-5), {"N": 4096}, fixed=("N",))
    assert lib.scale.specialize_for({"N": 4096}).fixed == {"N": 4096}
    assert not lib.scale.specialize_for({"N": 4095}).fixed


def packing(kernel: object, sizes: dict[str, int]) -> object:
    return kernel.specialize_for(sizes).artifact.signature.params[1].packed  # type: ignore[attr-defined]


def test_one_packing_serves_all_sizes(deep: Library, tuned: Tuned) -> None:
    shallow = {"BM": 16, "BN": 32, "BK": 32}
    tuned(deep.gemm, StandIn(lambda c: 1e-6 if c["BK"] == 32 else 1e-5), DIMS, settled=shallow)
    stored = packing(deep.gemm, DIMS)
    assert stored != deep.gemm.specialize(BM=16, BN=32, BK=64).artifact.signature.params[1].packed
    # A size far from it gets the same storage, and so does packing that knows of no size.
    for sizes in ({**DIMS, "M": 4096}, {"K": 256, "N": 128}):
        assert packing(deep.gemm, sizes) == stored
    # Another tuning may not leave it, however fast the others are...
    large = {**DIMS, "M": 1000}
    result = tuned(deep.gemm, StandIn(lambda c: 1e-6 if c["BK"] == 64 else 1e-5), large, top=99)
    assert result.config["BK"] == 32
    assert packing(deep.gemm, large) == stored
    # ... unless all weights are packed again.
    result = tuned(
        deep.gemm, StandIn(lambda c: 1e-6 if c["BK"] == 64 else 1e-5), large, top=99, repack=True
    )
    assert result.config["BK"] == 64
    assert len(deep.gemm.origin.tuned.known()) == 1  # type: ignore[attr-defined]
    assert deep.gemm.specialize_for(DIMS).config == result.config


def test_packed_weights_of_a_call_keep_their_storage(deep: Library, tuned: Tuned) -> None:
    import numpy as np

    packed = deep.gemm.pack("w", np.zeros((256, 128), np.uint8), BM=16, BN=64, BK=64)
    bench = StandIn(lambda c: 1e-6 if c["BK"] == 32 else 1e-5 if c["BN"] == 64 else 1e-4)
    result = tuned(deep.gemm, bench, DIMS, given={"w": packed}, top=99)
    assert (result.config["BN"], result.config["BK"]) == (64, 64)


def test_tiles_of_other_widths_share_a_packing(deep: Library) -> None:
    narrow, wide = (
        deep.gemm.specialize(BM=32, BN=n, BK=64).artifact.signature.params[1].packed
        for n in (32, 64)
    )
    assert narrow == wide


def test_other_weights_have_a_storage_of_their_own(lib: Library, tuned: Tuned) -> None:
    tuned(lib.gemm, StandIn(wide_is_fast), DIMS, settled={"BN": 32})
    result = tuned(lib.gemm, StandIn(wide_is_fast), {**DIMS, "N": 256}, settled={"BN": 64})
    assert result.config["BN"] == 64


def test_what_cannot_be_tuned_says_so(lib: Library, tuned: Tuned, tmp_path: Path) -> None:
    interpreted = dslc.compile(SOURCE, "interp")
    for kernel, sizes, code in (
        (interpreted.gemm, DIMS, "DSL0920"),
        (lib.gemm, {"M": 16, "K": 256}, "DSL0913"),
        (lib.gemm, {**DIMS, "N": 100}, "DSL0921"),  # N % BN is required
    ):
        with pytest.raises(DiagnosticError) as caught:
            tuned(kernel, StandIn(wide_is_fast), sizes)
        assert caught.value.diagnostics[0].code == code
    lib.save(tmp_path / "package", [lib.scale.specialize()])
    with pytest.raises(DiagnosticError) as caught:
        dslc.load(tmp_path / "package").scale.tune(N=4096)
    assert caught.value.diagnostics[0].code == "DSL0920"


def test_without_a_gpu_it_says_so(lib: Library) -> None:
    from dslc.runtime.cuda.device import CudaDevice
    from dslc.runtime.cuda.driver import load_driver

    load_driver.cache_clear()
    CudaDevice.get.cache_clear()
    with pytest.raises(DiagnosticError) as caught:
        lib.gemm.tune(**DIMS)
    assert caught.value.diagnostics[0].code == "DSL0840"


def test_packages_take_tuned_choices(lib: Library, tuned: Tuned, tmp_path: Path) -> None:
    result = tuned(lib.scale, StandIn(lambda c: 1.0 / int(c["BN"])), {"N": 4096}, top=99)
    lib.save(tmp_path / "package", [lib.scale.specialize_for({"N": 4096})])
    loaded = dslc.load(tmp_path / "package")
    assert loaded.scale.specialize_for({"N": 4096}).config == result.config


def test_processes_of_their_own_compile(lib: Library, tuned: Tuned) -> None:
    result = tuned(lib.scale, StandIn(lambda c: 1.0 / int(c["BN"])), {"N": 4096}, jobs=2)
    assert result.config["BN"] == 1024
    assert not result.found.dropped


def test_what_other_machines_compile_is_kept_here(
    lib: Library, tuned: Tuned, cache: Path, tmp_path: Path
) -> None:
    """Workers of an executor have caches of their own; the artifacts that come back are put in ours."""

    class Cluster(Executor):
        def submit(self, function: Any, /, *args: Any, **named: Any) -> Future[Any]:
            with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as thread:
                patch.setenv("DSLC_CACHE_DIR", str(tmp_path / "theirs"))
                return thread.submit(function, *args, **named)

    result = tuned(
        lib.scale, StandIn(lambda c: 1e-5 * int(c["BN"])), {"N": 4096}, executor=Cluster()
    )
    assert result.config["BN"] == 256
    assert len(result.found.measured) > 1
    entries = {p.name for p in (tmp_path / "theirs").glob("v1/entries/*/*")}
    assert entries
    assert entries <= {p.name for p in cache.glob("v1/entries/*/*")}


def test_a_fault_of_the_gpu_ends_it_with_the_best_so_far(lib: Library, tuned: Tuned) -> None:
    from dslc.compiler.diagnostics import error

    def faulty(config: Config) -> float:
        if config != {"BM": 16, "BN": 64}:
            bench.broken = True
            raise error("DSL0842", "running gemm failed: an illegal address")
        return 1e-5

    bench = StandIn(faulty)
    result = tuned(lib.gemm, bench, DIMS, top=12)
    assert "illegal address" in result.found.interrupted
    assert len(result.found.dropped) == 1, "nothing else is tried after it"
    assert result.config == {"BM": 16, "BN": 64}
    assert bench.loaded == 0


@pytest.mark.parametrize("broken", [False, True])
def test_one_that_fails_in_the_finals_is_dropped(lib: Library, tuned: Tuned, broken: bool) -> None:
    def seconds(config: Config) -> float:
        if config["BM"] == 32 and bench.timed[-1][1] == FULL:
            bench.broken = broken
            return fail("the GPU has no memory left")
        return wide_is_fast(config)

    bench = StandIn(seconds)
    result = tuned(lib.gemm, bench, DIMS, top=12)
    assert result.config["BM"] == (
        32 if broken else 16
    )  # of the other wide ones the brief times hold
    assert any("no memory left" in reason for _, reason in result.found.dropped)
    assert ("no memory left" in result.found.interrupted) == broken
    assert bench.loaded == 0


def test_a_result_that_cannot_be_kept_is_a_result_all_the_same(
    lib: Library, tuned: Tuned, cache: Path
) -> None:
    (cache / "tuning").mkdir(parents=True)
    (cache / "tuning").rmdir()
    (cache / "tuning").write_text("no folder")
    with pytest.warns(CacheWarning, match=r"not kept.*tuning cannot be written"):
        result = tuned(lib.gemm, StandIn(wide_is_fast), DIMS)
    assert result.config["BM"] == 32
    assert lib.gemm.specialize_for(DIMS).config == result.config


def test_predicting_takes_a_part_of_the_budget(lib: Library, tuned: Tuned) -> None:
    result = tuned(lib.gemm, StandIn(wide_is_fast), DIMS, budget=1e-9)
    assert len(result.pruned.candidates) < 4
    assert result.config == {"BM": 16, "BN": 64}


def test_the_default_stays_where_nothing_is_faster(lib: Library, tuned: Tuned) -> None:
    result = tuned(lib.gemm, StandIn(lambda c: 1e-5 if "warps" in c else 1.005e-5), DIMS, top=99)
    assert result.config == {"BM": 16, "BN": 64}


def test_a_budget_that_ends_in_the_finals_keeps_what_was_fastest(
    lib: Library, tuned: Tuned, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dslc.tuner.search import Search

    monkeypatch.setattr(
        Search, "_time_is_up", lambda self, limit: any(e == FULL for _, e in bench.timed)
    )
    bench = StandIn(lambda c: 1e-5 if c["BM"] == 32 else 2e-5)
    result = tuned(lib.gemm, bench, DIMS, top=12)
    assert result.found.interrupted == "budget"
    assert result.config["BM"] == 32
