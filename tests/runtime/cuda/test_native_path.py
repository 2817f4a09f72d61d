"""The short way in C, over objects that only tell where they begin."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dslc.compiler.artifact import Param
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cuda import native_path
from dslc.runtime.cuda.device import CudaDevice
from dslc.runtime.cuda.launchers import KernelLauncher
from dslc.runtime.cuda.native_path import native_call
from dslc.runtime.cuda.plan import Frame

from support.gpu import exchange
from support.gpu.fake_cuda import FakeDriver, aligned, scale_artifact

pytestmark = pytest.mark.skipif(
    native_path.extension() is None, reason="the extension is not built (no C compiler)"
)
STREAM = 6


class Tensor:
    """What the C code asks of a tensor."""

    def __init__(self, n: int = 8) -> None:
        self.array = aligned(n)
        self.array[:] = np.arange(n)

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)


class Exchanged(Tensor):
    """A tensor that tells what it is by DLPack's C exchange interface."""

    device, code = 0, 2
    __dlpack_c_exchange_api__ = exchange.capsule(stream=STREAM + 1)


class Calls:
    """y = x * s for 8 elements by the native way, and what Python was asked meanwhile."""

    def __init__(self, kind: type[Tensor] = Tensor) -> None:
        artifact = scale_artifact()
        launcher = KernelLauncher(artifact)
        device = CudaDevice.get(0)
        self.direct = launcher.direct(device, {"N": 8})
        self.fire = launcher.fire(device, {"N": 8})
        self.asked: list[tuple[object, ...]] = []
        self.fits = True
        params = artifact.signature.params
        self.compared = 0
        made = native_call(
            params, self.check, lambda d: STREAM, 0, self.direct, self.anew, [kind(), kind()]
        )
        assert made is not None
        self.call: Callable[..., bool] = made

    def check(self, *tensors: object) -> bool:
        self.compared += 1
        return all(isinstance(t, Tensor) and t.array.shape == (8,) for t in tensors)

    def anew(self, stream: int, *given: Any) -> Frame | bool:
        self.asked.append((stream, *given))
        if not self.fits:
            return False
        self.fire(stream, *given)
        again = self.asked.count((stream, *given)) > 1
        assert self.direct is not None
        return self.direct.frame(stream, given) if again else True


@pytest.fixture
def calls(driver: FakeDriver) -> Calls:
    return Calls()


def test_python_is_asked_twice_and_no_more(calls: Calls, driver: FakeDriver) -> None:
    x, y = Tensor(), Tensor()
    for k in range(5):
        y.array[:] = -1
        assert calls.call((x, y, 2.5), None) is True
        assert np.array_equal(y.array, x.array * np.float32(2.5))
        assert len(calls.asked) == min(k + 1, 2)
    assert driver.count("launches") == 5
    assert calls.asked[0] == (STREAM, x.data_ptr(), y.data_ptr(), 2.5)


def test_streams_addresses_and_scalars_are_told_apart(calls: Calls, driver: FakeDriver) -> None:
    tensors = [Tensor() for _ in range(4)]
    for _ in range(4):
        for x in tensors[:2]:
            for y in tensors[2:]:
                for stream in (None, 9, 3):
                    for s in (0.0, -0.0, 1, 3, -2.5, float("nan"), float("inf")):
                        y.array[:] = 7
                        assert calls.call((x, y, s), stream) is True
                        assert driver.last.stream == (stream or STREAM)
                        with np.errstate(invalid="ignore"):
                            wanted = x.array * np.float32(s)
                        assert np.array_equal(y.array.view(np.int32), wanted.view(np.int32))


@pytest.mark.parametrize(
    "arguments",
    [
        lambda x, y: (x, y),
        lambda x, y: (x, y, 1.0, 2.0),
        lambda x, y: (x, None, 1.0),
        lambda x, y: (x, Tensor(12), 1.0),
        lambda x, y: (x, y, True),
        lambda x, y: (x, y, "1"),
        lambda x, y: (x, y, None),
        lambda x, y: (x, y, 10**400),
        lambda x, y: (x, y, np.float32(1)),
        lambda x, y: (),
    ],
)
def test_other_arguments_are_not_launched(
    calls: Calls, driver: FakeDriver, arguments: Callable[[Tensor, Tensor], Any]
) -> None:
    x, y = Tensor(), Tensor()
    for _ in range(3):
        assert calls.call((x, y, 1.0), None) is True
    before = driver.count("launches")
    assert calls.call(arguments(x, y), None) is False
    assert driver.count("launches") == before


def test_what_python_refuses_is_asked_again(calls: Calls, driver: FakeDriver) -> None:
    x, y = Tensor(), Tensor()
    calls.fits = False
    assert calls.call((x, y, 1.0), None) is False
    assert calls.call((x, y, 1.0), None) is False
    assert driver.count("launches") == 0
    calls.fits = True
    assert calls.call((x, y, 1.0), None) is True


def test_more_addresses_than_the_table_holds(calls: Calls) -> None:
    y = Tensor()
    tensors = [Tensor() for _ in range(1500)]
    for _ in range(3):
        for x in tensors:
            x.array[0] = y.array[0] + 1
            assert calls.call((x, y, 1.0), None)
            assert np.array_equal(x.array, y.array)


def test_errors_come_through(calls: Calls, driver: FakeDriver) -> None:
    x, y = Tensor(), Tensor()
    for _ in range(3):
        calls.call((x, y, 1.0), None)
    driver.fail_next(700)
    with pytest.raises(DiagnosticError, match="ILLEGAL_ADDRESS"):
        calls.call((x, y, 1.0), None)
    with pytest.raises(DiagnosticError, match="is no CUDA stream"):
        calls.call((x, y, 1.0), "stream")
    with pytest.raises(TypeError, match="tuple of arguments"):
        calls.call([x, y, 1.0], None)
    with pytest.raises(TypeError, match="tuple of arguments"):
        calls.call((x, y, 1.0))


def test_another_context_is_launched_in_the_right_one(calls: Calls, driver: FakeDriver) -> None:
    x, y = Tensor(), Tensor()
    for context in (1000, 0, 55, 0, 1000):
        driver.context = context
        y.array[:] = 0
        assert calls.call((x, y, 3.0), None)
        assert np.array_equal(y.array, x.array * 3)
        assert driver.context == context


def test_integers_and_truth_values(driver: FakeDriver) -> None:
    artifact = scale_artifact()
    params = (Param("i", "i32", "in"), Param("b", "bool", "in"), Param("k", "u64", "in"))
    asked: list[tuple[object, ...]] = []

    def anew(*given: object) -> bool:
        asked.append(given)
        return True

    direct = KernelLauncher(artifact).direct(CudaDevice.get(0), {"N": 8})
    assert direct is not None
    call: Any = native_call(params, lambda *t: True, lambda d: STREAM, 0, direct, anew, [])
    assert call((-5, True, 7), None)
    assert asked == [(STREAM, -5, True, 7)]
    assert type(asked[0][2]) is bool
    for wrong in ((1.0, True, 7), (1, 1, 7), (1, True, 1 << 63), (True, True, 7), (1, None, 7)):
        assert call(wrong, None) is False
    assert len(asked) == 1


def test_threads_share_a_native_way(calls: Calls) -> None:
    wrong = []

    def work(factor: int) -> None:
        x, y = Tensor(), Tensor()
        for k in range(400):
            s = float(factor + k % 7)
            if not calls.call((x, y, s), None) or not np.array_equal(y.array, x.array * s):
                wrong.append((factor, k))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_native_way_is_collected(driver: FakeDriver) -> None:
    calls = Calls()
    x, y = Tensor(), Tensor()
    for _ in range(3):
        calls.call((x, y, 1.0), None)
    calls.cycle = calls.call  # type: ignore[attr-defined]
    gone = weakref.ref(calls)
    del calls
    gc.collect()
    assert gone() is None


def test_too_many_parameters_have_none(calls: Calls) -> None:
    params = tuple(replace(Param("x", "f32", "in", ("N",)), name=f"x{i}") for i in range(100))
    assert calls.direct is not None
    made = native_call(params, calls.check, lambda d: STREAM, 0, calls.direct, calls.anew, [])
    assert made is None


def test_tensors_are_read_by_the_exchange_interface(driver: FakeDriver) -> None:
    """The guards are asked of addresses that are new, and the stream is the interface's."""
    calls = Calls(Exchanged)
    x, y, z = Exchanged(), Exchanged(), Exchanged()
    for k in range(5):
        assert calls.call((x, y, 2.0), None) is True
        assert calls.compared == min(k + 1, 2)
    assert np.array_equal(y.array, x.array * 2)
    assert driver.last.stream == STREAM + 1
    assert calls.call((x, z, 2.0), 9) is True
    assert driver.last.stream == 9
    assert calls.compared == 3
    assert calls.asked[0] == (STREAM + 1, x.data_ptr(), y.data_ptr(), 2.0)


def test_tensors_that_the_interface_tells_from_the_first_are_not_launched(
    driver: FakeDriver,
) -> None:
    calls = Calls(Exchanged)
    x, y = Exchanged(), Exchanged()
    elsewhere, integers, longer, broken = Exchanged(), Exchanged(), Exchanged(12), Exchanged()
    elsewhere.device, integers.code, broken.array = 1, 0, None  # type: ignore[assignment]
    every_other = Exchanged(16)
    every_other.array = every_other.array[::2]
    for other in (elsewhere, integers, longer, broken, every_other, Tensor(), None):
        assert calls.call((x, other, 1.0), None) is False
    assert calls.compared == 0
    assert driver.count("launches") == 0
    assert calls.call((x, y, 1.0), None) is True


class Negating(Exchanged):
    """A tensor that may say of itself that it negates what lies in memory, as torch's do."""

    def __init__(self, every: int = 1, negates: bool = False) -> None:
        super().__init__(8 * every)
        self.array, self.negates, self.asked = self.array[::every], negates, 0

    def is_neg(self) -> bool:
        self.asked += 1
        return self.negates


@pytest.mark.parametrize(("every", "asked"), [(1, 0), (3, 0), (2, 5), (4, 5)])
def test_a_tensor_that_may_negate_by_its_strides_is_asked(
    driver: FakeDriver, every: int, asked: int
) -> None:
    """The imaginary part of a conjugate has the address, shape and strides of that of the number."""
    first, again = lambda: Negating(every), Negating(every)
    calls = Calls(first)  # type: ignore[arg-type]
    y = Negating(every)
    for _ in range(5):
        assert calls.call((again, y, 1.0), None) is True
    assert (again.asked, y.asked) == (asked, asked)
    if asked:
        again.negates = True
        before = driver.count("launches")
        assert calls.call((again, y, 1.0), None) is False
        assert driver.count("launches") == before


def test_an_interface_of_another_version_is_not_used(driver: FakeDriver) -> None:
    class Later(Tensor):
        __dlpack_c_exchange_api__ = exchange.capsule(stream=STREAM, major=2)

    calls = Calls(Later)
    x, y = Later(), Later()
    for _ in range(4):
        assert calls.call((x, y, 3.0), None) is True
    assert calls.compared == 4
    assert np.array_equal(y.array, x.array * 3)
