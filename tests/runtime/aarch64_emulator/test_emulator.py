"""The emulator by kernels written by hand: results, and everything that the machine forbids."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import pytest
from dslc.runtime.aarch64_emulator import EmulationError, Emulator

from support.aarch64 import assemble, function, guest_program


class Emulate(Protocol):
    def __call__(self, cpu: str = "max") -> Emulator: ...


# y[t] = a x[t] for begin <= t < end; a is the bits of a float
SCALE = """
    ldp x4, x5, [x0]
    ldr s0, [x0, #16]
.Lscale:
    cmp x1, x2
    b.ge .Lscaled
    ldr s1, [x4, x1, lsl #2]
    fmul s1, s1, s0
    str s1, [x5, x1, lsl #2]
    add x1, x1, #1
    b .Lscale
.Lscaled:
    mov w0, #0
    ret
"""


@pytest.fixture(scope="module")
def scale() -> bytes:
    return assemble(function("scale", SCALE))


def bits(number: float) -> int:
    return int(np.float32(number).view(np.uint32))


@pytest.mark.parametrize("side", ["end", "start"])
@pytest.mark.parametrize("n", [1, 7, 1024, 5000])
def test_a_kernel_runs_over_slices(emulator_of: Emulate, scale: bytes, n: int, side: str) -> None:
    x, y = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    cut = n // 3
    kernel = emulator_of().load(scale)
    kernel.call("scale", [x, y, bits(0.5)], [1], [(cut, n), (0, cut)], side=side)
    np.testing.assert_array_equal(y, x / 2)


def test_libraries_and_arrays_take_no_descriptors(emulator_of: Emulate, scale: bytes) -> None:
    """A process that specialises hundreds of kernels must not run out of files."""
    emulator = emulator_of()
    emulator.load(scale)
    before = len(os.listdir("/proc/self/fd"))
    for n in range(1, 60):
        x, y = np.arange(100 * n, dtype=np.float32), np.zeros(100 * n, np.float32)
        emulator.load(scale).call("scale", [x, y, bits(0.5)], [1], [(0, 100 * n)])
        np.testing.assert_array_equal(y, x / 2)
    assert len(os.listdir("/proc/self/fd")) <= before + 3


def test_an_array_keeps_its_strides(emulator_of: Emulate) -> None:
    # The elements of a column, by a stride in bytes.
    body = """
    ldp x4, x5, [x0]
    ldr x6, [x0, #16]
    madd x4, x1, x6, x4
    ldr w7, [x4]
    str w7, [x5, x1, lsl #2]
    mov w0, #0
    ret
"""
    table = np.arange(12, dtype=np.int32).reshape(3, 4)
    y = np.zeros(3, np.int32)
    for column in (table[:, 1], table[::-1, 2]):
        kernel = emulator_of().load(assemble(function("pick", body)))
        kernel.call("pick", [column, y, column.strides[0]], [1], [(i, i + 1) for i in range(3)])
        np.testing.assert_array_equal(y, column)


def test_the_first_result_is_that_of_the_call(emulator_of: Emulate) -> None:
    kernel = emulator_of().load(assemble(function("check", "    mov w0, w1\n    ret")))
    assert kernel.call("check", [], [], [(0, 1), (7, 8), (9, 10)]) == 7


@pytest.mark.parametrize(
    ("n", "side", "message"),
    [(5, "end", r"1 bytes behind the end of x"), (5, "start", r"bytes behind the end of [xy]")],
)
def test_an_access_past_an_array_is_found(
    emulator_of: Emulate, scale: bytes, n: int, side: str, message: str
) -> None:
    x, y = np.zeros(n, np.float32), np.zeros(n, np.float32)
    kernel = emulator_of().load(scale)
    with pytest.raises(EmulationError, match=message + r".*SIGSEGV"):
        kernel.call("scale", [x, y, 0], [1], [(0, 4096)], names=("x", "y"), side=side)


def test_an_access_before_an_array_is_found(emulator_of: Emulate, scale: bytes) -> None:
    x, y = np.zeros(5, np.float32), np.zeros(5, np.float32)
    kernel = emulator_of().load(scale)
    with pytest.raises(EmulationError, match=r"scale\+0x.*4 bytes before the beginning of x"):
        kernel.call("scale", [x, y, 0], [1], [(-1, 5)], names=("x", "y"), side="start")


def test_a_write_to_what_is_only_read_is_found(emulator_of: Emulate, scale: bytes) -> None:
    x, y = np.zeros(5, np.float32), np.zeros(5, np.float32)
    with pytest.raises(EmulationError, match=r"within y, which it may only read"):
        emulator_of().load(scale).call("scale", [x, y, 0], [], [(0, 5)], names=("x", "y"))


def test_a_write_beside_an_array_is_found(emulator_of: Emulate, scale: bytes) -> None:
    x, y = np.zeros(2000, np.float32), np.zeros(5, np.float32)
    with pytest.raises(EmulationError, match=r"writes outside y"):
        emulator_of().load(scale).call(
            "scale", [x, y, bits(1)], [1], [(0, 6)], names=("x", "y"), side="start"
        )


@pytest.mark.parametrize(
    ("cpu", "instruction", "arch", "there"),
    [
        ("max", "smmla v0.4s, v1.16b, v2.16b", "armv8.6-a+i8mm", True),
        ("neoverse-n1", "smmla v0.4s, v1.16b, v2.16b", "armv8.6-a+i8mm", False),
        ("neoverse-n1", "sdot v0.4s, v1.16b, v2.16b", "armv8.2-a+dotprod", True),
        ("cortex-a57", "sdot v0.4s, v1.16b, v2.16b", "armv8.2-a+dotprod", False),
        ("max", "bfmmla v0.4s, v1.8h, v2.8h", "armv8.6-a+bf16", True),
    ],
)
def test_a_cpu_without_the_instruction_says_so(
    emulator_of: Emulate, cpu: str, instruction: str, arch: str, there: bool
) -> None:
    body = f"    {instruction}\n    mov w0, #0\n    ret"
    kernel = emulator_of(cpu).load(assemble(function("f", body, arch)))
    if there:
        assert kernel.call("f", [], [], [(0, 1)]) == 0
        return
    with pytest.raises(EmulationError, match=rf"f\+0x0: the CPU {cpu} has no instruction 0x4"):
        kernel.call("f", [], [], [(0, 1)])


@pytest.mark.parametrize(
    ("body", "register"),
    [
        ("mov x19, #1", "x19"),
        ("mov x18, #1", "x18"),
        ("movi d9, #0", "d9"),
        ("sub sp, sp, #16", "sp"),
    ],
)
def test_registers_that_are_to_be_kept(emulator_of: Emulate, body: str, register: str) -> None:
    kernel = emulator_of().load(assemble(function("f", f"    {body}\n    ret")))
    with pytest.raises(EmulationError, match=rf"has to keep: {register}$"):
        kernel.call("f", [], [], [(0, 1)])
    keeping = assemble(
        function("f", "    movi v0.16b, #1\n    mov x9, #1\n    mov w0, #0\n    ret")
    )
    assert emulator_of().load(keeping).call("f", [], [], [(0, 1)]) == 0


def test_registers_that_are_no_arguments_hold_nothing_of_use(emulator_of: Emulate) -> None:
    body = "    ldr x4, [x0]\n    str q31, [x4]\n    str x9, [x4, #16]\n    mov w0, #0\n    ret"
    seen = np.zeros(24, np.uint8)
    emulator_of().load(assemble(function("f", body))).call("f", [seen], [0], [(0, 1)])
    assert (seen == 0xFF).all()


def test_scratch_is_aligned_and_ends_at_its_size(emulator_of: Emulate) -> None:
    body = """
    ldr x4, [x0]
    str x3, [x4]
    str xzr, [x3, #184]
    cbz x1, .Lenough
    str xzr, [x3, #192]
.Lenough:
    mov w0, #0
    ret
"""
    where = np.zeros(1, np.int64)
    kernel = emulator_of().load(assemble(function("f", body)))
    kernel.call("f", [where], [0], [(0, 1)], scratch=192)
    assert where[0] % 64 == 0
    with pytest.raises(EmulationError, match="1 bytes behind the end of its scratch"):
        kernel.call("f", [where], [0], [(1, 1)], scratch=192)


def test_a_kernel_that_does_not_end(emulator_of: Emulate) -> None:
    emulator = Emulator(guest_program(), "max")
    kernel = emulator.load(assemble(function("f", ".Lagain:\n    b .Lagain")))
    with pytest.raises(EmulationError, match=r"did not end within 0\.2 s"):
        kernel.call("f", [], [], [(0, 1)], timeout=0.2)
    assert not emulator.alive


def test_an_unknown_cpu(emulator_of: Emulate) -> None:
    emulator_of()
    with pytest.raises(EmulationError, match=r"-cpu nonesuch"):
        Emulator(guest_program(), "nonesuch")


def test_faults_do_not_end_the_guest(emulator_of: Emulate, scale: bytes) -> None:
    emulator = Emulator(guest_program())
    broken = emulator.load(assemble(function("f", "    ldr x0, [x9]\n    ret")))
    for _ in range(20):
        with pytest.raises(EmulationError):
            broken.call("f", [], [], [(0, 1)])
    x, y = np.ones(3, np.float32), np.zeros(3, np.float32)
    emulator.load(scale).call("scale", [x, y, bits(2)], [1], [(0, 3)])
    np.testing.assert_array_equal(y, 2)
    emulator.close()


def test_a_call_takes_microseconds(emulator_of: Emulate, scale: bytes) -> None:
    """The best of many, a bound that holds when busy; figures: docs/performance/aarch64.md."""
    kernel = emulator_of().load(scale)
    x, y = np.ones(16, np.float32), np.zeros(16, np.float32)
    kernel.call("scale", [x, y, bits(2)], [1], [(0, 16)])
    best = 1.0
    for _ in range(200):
        begin = time.perf_counter()
        kernel.call("scale", [x, y, bits(2)], [1], [(0, 16)])
        best = min(best, time.perf_counter() - begin)
    assert best < 2e-3


def test_a_library_that_depends_on_its_place_is_refused(emulator_of: Emulate) -> None:
    other = assemble(function("f", "    b f"))  # through a table, since another library may have f
    with pytest.raises(EmulationError, match="relocations"):
        emulator_of().load(other)


def test_threads_take_turns(emulator_of: Emulate, scale: bytes) -> None:
    kernel = emulator_of().load(scale)

    def one(k: int) -> bool:
        x, y = np.full(50 + k, k, np.float32), np.zeros(50 + k, np.float32)
        kernel.call("scale", [x, y, bits(2)], [1], [(0, 50 + k)])
        return bool((y == 2 * k).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, range(40)))


def test_a_fork_leaves_the_guest_alone(emulator_of: Emulate, scale: bytes) -> None:
    emulator = emulator_of()
    child = os.fork()
    if child == 0:
        emulator.close()
        os._exit(0 if not emulator.alive else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert emulator.alive
