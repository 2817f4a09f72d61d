"""What a machine has no room for is not chosen, and where it is the next choices take its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compilation import templates
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.rewrite import kernels
from dslc.compiler.ir.traverse import walk
from dslc.machines.registry import find_machine

from support.ragged import Emitted, Emitting, emit

PRODUCTS = """
kernel turned(a: f16[M, K], b: f16[N, K], c: out f16[M, N]):
    tune BM = 128 | 64 | 16
    tune BN = 128 | 256 | 64
    tune BK = 64 | 128
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            acc += dot(a[m : m + BM, k : k + BK], b[n : n + BN, k : k + BK], transposed="b")
        c[m : m + BM, n : n + BN] = cast(acc, f16)

kernel squared(a: f16[M, K], c: out f32[M, M]):
    tune BM = 128 | 64
    tune BN = 256 | 128
    for m, n in parallel(range(0, M, BM), range(0, M, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, 64):
            acc += dot(a[m : m + BM, k : k + 64], a[n : n + BN, k : k + 64], transposed="b")
        c[m : m + BM, n : n + BN] = acc

kernel added(a: f16[M, K], b: f16[K, N], c: inout f16[M, N], alpha: f32, beta: f32):
    tune BM = 128 | 64
    tune BN = 128 | 256
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, 64):
            acc += dot(a[m : m + BM, k : k + 64], b[k : k + 64, n : n + BN])
        own = cast(c[m : m + BM, n : n + BN], f32)
        c[m : m + BM, n : n + BN] = cast(alpha * acc + beta * own, f16)
"""
SQUARE = {"M": 4096, "K": 4096, "N": 4096}


def product(name: str, target: str = "cuda:sm_90a") -> Any:
    return dslc.compile(PRODUCTS, target=target, cache=False)[name]


def emitting(name: str) -> Any:
    kernel = product(name)
    kernel.origin.machine = Emitting(kernel.origin.machine)
    return kernel


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        *(("turned", {**SQUARE, "N": n}) for n in (50257, 32001, 50264, 50260)),
        ("turned", {"M": 256, "K": 768, "N": 30522}),
        ("turned", {"K": 4096}),  # built ahead of time, its N open
        ("squared", {"M": 4095, "K": 4096}),
        ("added", SQUARE),
    ],
)
def test_every_product_finds_choices(name: str, sizes: Mapping[str, int]) -> None:
    emit(emitting(name), sizes)


@pytest.mark.parametrize("columns", [128, 256])
def test_results_that_no_unit_sends_have_room_beside_rings(columns: int) -> None:
    kernel = emitting("added")
    with pytest.raises(Emitted):
        kernel.origin.specialization({}, {"BM": 128, "BN": columns}, SQUARE.get)


@pytest.mark.parametrize(("n", "sent"), [(50257, False), (50260, False), (50264, True)])
def test_rows_of_whole_16_bytes_leave_by_the_unit(n: int, sent: bool) -> None:
    from dslc.compiler.passes.pass_manager import run_passes

    origin = product("turned").origin
    made = origin.elaborated({}, {"BM": 128, "BN": 256}, {**SQUARE, "N": n}.get)
    lowered = run_passes(made.program, origin.machine.passes(made.schedule))
    stmts = list(walk(lowered.body))
    assert any(isinstance(s, ins.WarpSpecialize) for s in stmts), "warps copy for the others"
    leaving = [s for s in stmts if isinstance(s, ins.CopyAsync) and s.dst.memory.name == "c"]
    assert bool(leaving) is sent


CHOICES = """
kernel k(x: f32[M], y: out f32[M]):
    tune B = 32 | 64 | 128
    for m in parallel(range(0, M, B)):
        y[m : m + B] = x[m : m + B] + x[m : m + B]
"""


class Small:
    """A machine that refuses blocks; it notes those that it was asked for."""

    def __init__(self, machine: Any, refused: tuple[int, ...], code: str = "DSL0501") -> None:
        self._machine, self._refused, self._code = machine, refused, code
        self.asked: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def compile(self, program: Any, config: Mapping[str, Any], hashes: Any) -> Any:
        self.asked.append(config["B"])
        if config["B"] in self._refused:
            raise error(self._code, f"no room for {config['B']}")
        return self._machine.compile(program, config, hashes)


def small(refused: tuple[int, ...], code: str = "DSL0501") -> tuple[Any, Small]:
    kernel = dslc.compile(CHOICES, target="interp", cache=False)["k"]
    kernel.origin.machine = Small(kernel.origin.machine, refused, code)
    return kernel, kernel.origin.machine


def test_the_next_choice_takes_the_place_of_one_that_is_refused() -> None:
    kernel, machine = small((32, 64))
    assert dict(kernel.specialize_for({"M": 100}).config) == {"B": 128}
    assert machine.asked == [32, 64, 128]
    assert kernel.specialize_for({"M": 100}) is kernel.specialize_for({"M": 100})
    assert machine.asked == [32, 64, 128], "it is remembered"


def test_the_first_refusal_is_told_where_every_choice_is_refused() -> None:
    kernel, machine = small((32, 64, 128))
    with pytest.raises(DiagnosticError, match="no room for 32"):
        kernel.specialize_for({"M": 100})
    assert sorted(machine.asked) == [32, 64, 128]


class OfCalls(Small):
    """A machine that refuses blocks of a program's kernels."""

    def compile(self, program: Any, config: Mapping[str, Any], hashes: Any) -> Any:
        for kernel in kernels(program):
            found = dict(kernel.config)
            self.asked.append((kernel.name, found["B"]))
            if found["B"] in self._refused:
                raise error(self._code, f"no room for {found['B']}")
        return self._machine.compile(program, config, hashes)


PROGRAM = (
    CHOICES
    + """
kernel turned(x: f32[M], y: out f32[M]):
    tune B = 128 | 32
    for m in parallel(range(0, M, B)):
        y[m : m + B] = -x[m : m + B]

program both(x: f32[M], y: out f32[M]):
    h = buffer(f32, [M])
    k(x, h)
    turned(h, y)
"""
)


def test_kernels_of_a_program_take_the_choices_that_they_have_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first of one has no room; that of the other stays, and so does what a call names."""
    machine = OfCalls(find_machine("interp", None), (32,))
    monkeypatch.setattr(templates, "find_machine", lambda *_: machine)
    program = dslc.compile(PROGRAM, target="interp", cache=False)["both"]
    assert program.specialize_for({"M": 100}) is program.specialize_for({"M": 100})
    assert machine.asked[-2:] == [("k", 64), ("turned", 128)]
    x = np.arange(100, dtype=np.float32)
    y = np.zeros_like(x)
    program(x, y)
    assert (y == -2 * x).all()
    named = PROGRAM.replace("k(x, h)", "k(x, h, B=32)")
    with pytest.raises(DiagnosticError, match="no room for 32"):
        dslc.compile(named, target="interp", cache=False)["both"].specialize_for({"M": 100})


def test_other_errors_are_no_matter_of_choice() -> None:
    kernel, machine = small((32,), "DSL0590")
    with pytest.raises(DiagnosticError, match="no room for 32"):
        kernel.specialize_for({"M": 100})
    assert machine.asked == [32]


def test_named_choices_are_not_replaced() -> None:
    kernel, _ = small((32,))
    with pytest.raises(DiagnosticError, match="no room for 32"):
        kernel.specialize_for({"M": 100}, {"B": 32})


def test_columns_that_a_warp_has_three_times_are_no_obstacle() -> None:
    """Of 192 columns each of four waves has three of the instruction's, which two do not divide."""
    source = (
        CHOICES.replace("kernel k", "kernel unused")
        + """
kernel low(x: f16[M, K], w: f16[K, 192], y: out f16[M, 192]):
    for m in parallel(range(0, M, 64)):
        acc = zeros(f32, [64, 192])
        for k in range(0, K, 32):
            acc += dot(x[m : m + 64, k : k + 32], w[k : k + 32, :])
        y[m : m + 64, :] = cast(acc, f16)
"""
    )
    kernel = dslc.compile(source, target="hip:gfx942", cache=False)["low"]
    kernel.origin.machine = Emitting(kernel.origin.machine)
    emit(kernel, {"M": 61, "K": 100})
