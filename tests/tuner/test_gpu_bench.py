"""The bench of NVIDIA GPUs on the driver's stand-in: what it uploads, launches and gives back."""

from __future__ import annotations

from typing import Any

import dslc
import numpy as np
import pytest
from dslc.library import Library
from dslc.tuner.bench import FULL, QUICK
from dslc.tuner.gpu import CudaBench
from dslc.tuner.inputs import Inputs

from support.gpu.fake_cuda import FakeDriver, scale_artifact
from support.tuning import SOURCE


@pytest.fixture
def lib(tmp_path: Any) -> Library:
    return dslc.compile(SOURCE, "cuda:sm_90a", cache=tmp_path)


def bench_of(kernel: Any, sizes: dict[str, int], **given: Any) -> CudaBench:
    return CudaBench(Inputs(kernel.parameters, sizes, given))


def test_a_graph_of_launches_is_timed(driver: FakeDriver, lib: Library) -> None:
    bench = bench_of(lib.scale, {"N": 1 << 20}, s=2.0)
    loaded = bench.load(scale_artifact())
    assert loaded.wrong() is None
    launched = driver.count("launches")
    assert loaded.time(QUICK) == pytest.approx(2e-6)
    # 400 us of launches of 2 us: 8 MB a set, so that 30 copies are 4 times the cache.
    assert driver.count("launches") - launched >= 200
    again = driver.count("launches")
    assert loaded.time(FULL) == pytest.approx(2e-6)
    assert driver.count("launches") == again, "the graph is kept"
    loaded.close()
    bench.close()
    assert driver.count("allocations") == driver.count("frees")


def test_results_are_compared_with_the_first(driver: FakeDriver, lib: Library) -> None:
    bench = bench_of(lib.scale, {"N": 1024}, s=2.0)
    first = bench.load(scale_artifact())
    assert first.wrong() is None
    assert bench.load(scale_artifact()).wrong() is None
    # Real machine code does nothing on the stand-in: what it should have written shows.
    wrong = bench.load(lib.scale.specialize_for({"N": 1024}).artifact).wrong()
    assert wrong is not None
    assert wrong.startswith("y: 1024 of 1024")
    bench.close()


def test_copies_of_the_arguments_are_four_times_the_cache(driver: FakeDriver, lib: Library) -> None:
    bench = bench_of(lib.scale, {"N": 1 << 20}, s=2.0)
    bench.load(scale_artifact())
    assert driver.count("allocations") == 2 * 30  # 60 MiB of cache where the driver tells none
    bench.close()


def test_weights_are_packed_for_each_storage(driver: FakeDriver, lib: Library) -> None:
    sizes = {"M": 16, "K": 256, "N": 128}
    bench = bench_of(lib.gemm, sizes)
    made = [lib.gemm.specialize_for(sizes, {"BN": n}).artifact for n in (64, 32)]
    loaded = [bench.load(a) for a in (*made, made[0])]
    uploaded = bench.inputs.array(made[0].signature.params[1])
    packed = lib.gemm.pack("w", bench.inputs._made["w"].reshape(256, 128), BN=64)
    assert np.array_equal(uploaded, packed.reshape(-1))
    count = driver.count("allocations")
    bench.load(made[1]).close()
    assert driver.count("allocations") == count, "both storages are kept"
    for one in loaded:
        one.close()
    bench.close()
    assert driver.count("allocations") == driver.count("frees")


def test_arrays_of_what_is_closed_are_nobodys(driver: FakeDriver, lib: Library) -> None:
    """They may make room for another storage."""
    bench = bench_of(lib.scale, {"N": 1024}, s=2.0)
    loaded = bench.load(scale_artifact())
    assert +bench._users
    loaded.close()
    assert not +bench._users
    bench.close()


def test_given_arguments_are_used(driver: FakeDriver, lib: Library) -> None:
    x = np.arange(1024, dtype=np.float32)
    bench = bench_of(lib.scale, {"N": 1024}, x=x, s=3.0)
    loaded = bench.load(scale_artifact())
    loaded.wrong()
    assert bench.reference is not None
    assert np.array_equal(bench.reference["y"], 3 * x)
    bench.close()


def test_a_tuning_runs_from_the_kernel(driver: FakeDriver, lib: Library) -> None:
    result = lib.scale.tune(N=4096, s=2.0, top=2, jobs=1)
    assert result.record is not None
    assert result.record.device == "Fake GPU"
    assert result.record.driver == "CUDA 13.0"
    assert result.record.seconds == pytest.approx(2e-6)
    assert lib.scale.specialize_for({"N": 4096}).config == result.config


def test_a_kernel_tunes_itself_at_its_first_call(
    driver: FakeDriver, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dslc.tuner.calls as calls
    from dslc.tuner.tuning import Settings

    library = dslc.compile(SOURCE, "cuda:sm_90a", cache=tmp_path, autotune=True)
    ran = []
    original = calls.tune

    def quickly(origin: Any, request: Any, settings: Any = None) -> Any:
        ran.append(request)
        return original(origin, request, Settings(top=2, jobs=1))

    monkeypatch.setattr(calls, "tune", quickly)
    from support.gpu.fake_cuda import OnDevice, aligned

    x, y = OnDevice(aligned(4096)), OnDevice(aligned(4096))
    for _ in range(2):
        library.scale(x, 2.0, y)
    (request,) = ran
    assert request.sizes == {"N": 4096}
    assert sorted(request.given) == ["s", "x"]
    library.scale(x, 2.0, y, BN=256)  # explicit choices are not tuned
    small = OnDevice(aligned(64)), OnDevice(aligned(64))
    library.scale(small[0], 2.0, small[1])
    assert len(ran) == 2
