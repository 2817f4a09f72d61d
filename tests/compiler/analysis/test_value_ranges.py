"""Intervals of tiles: what is shown, and that no number of any run lies outside."""

from __future__ import annotations

import dslc
import numpy as np
import pytest
from dslc.calls.arguments import dim_size
from dslc.compiler.analysis.value_ranges import ValueRanges, range_text
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import Options, run
from dslc.compiler.interpreter.recording import Recording
from dslc.compiler.ir import Kernel, Value
from dslc.compiler.ir.traverse import walk

from support.kernels import statements
from support.oracle import arguments
from support.oracle.generator import generate
from support.oracle.printer import source
from support.oracle.profiles import profile


def ranges(kernel: Kernel) -> dict[str, str]:
    """The texts of all named tiles, the last of each name."""
    known = ValueRanges(kernel)
    outs = [s.out for s in walk(kernel.body) if isinstance(getattr(s, "out", None), Value)]
    return {v.name: range_text(known.of(v), v.type.dtype) for v in outs if v.name}


def test_what_a_name_can_hold() -> None:
    found = ranges(
        statements(
            """
for m in parallel(range(0, M, 16)):
    codes = w[m : m + 16, 0:8]
    centred = cast(codes, i8) - 8
    weights = cast(centred, f16) * 0.5
    gate = sigmoid(x[m : m + 16, 0:8])
    safe = maximum(x[m : m + 16, 0:8], 0.0)
    wide = cast(codes, i32) * 1000
    low = wide & 15
    picked = where(gate > 0.5, weights, 2.0)
    best = argmax(gate, 1)
    total = sum(cast(codes, i32), 1)
    free = x[m : m + 16, 0:8] * 2.0
    y[m : m + 16, 0:8] = gate
""",
            "x: f16[M, N], w: u4[M, N], y: out f16[M, N]",
        )
    )
    assert found == {
        "codes": "0 to 15",
        "centred": "-8 to 7",
        "weights": "-4 to 3.5",
        "gate": "0 to 1",
        "safe": "0 or more",
        "wide": "0 to 15000",
        "low": "0 to 15",
        "picked": "-4 to 3.5",
        "best": "0 to 7",
        "total": "0 to 120",
        "free": "any",
    }


def test_what_a_loop_carries_grows_to_its_dtype_and_no_further() -> None:
    kernel = statements(
        """
for m in parallel(range(0, M, 16)):
    acc = zeros(f32, [16])
    worst = zeros(f32, [16])
    b = buffer(f32, [16])
    b[0:16] = exp(acc) * 0.0
    for k in range(0, N, 32):
        acc += sum(exp(cast(x[m : m + 16, k : k + 32], f32)), 1)
        worst = maximum(worst, 1.0)
        b[0:16] = minimum(b[0:16] + 1.0, 4.0)
    kept = b[0:16]
    y[m : m + 16, 0] = cast(acc + worst + kept, f16)
"""
    )
    found = ranges(kernel)
    assert (found["acc"], found["kept"]) == ("0 or more", "0 to 4")
    assert found["worst"] in ("0 to 1", "1")


class _Every(Recording):
    """A recording of all turns."""

    def takes(self, frame: object) -> bool:
        return True


def _outside(seed: int) -> list[str]:
    """Tiles of a random program that held what their interval has not."""
    program = generate(seed, profile("interp"))
    values = arguments.initial(program)
    given = {t.name: arguments.placed(t, values[t.name]) for t in program.tensors}
    given |= {name: value for name, _, value in program.scalars}
    (kernel,) = dslc.compile(source(program), "interp", cache=False).values()
    origin = kernel.origin
    recording = _Every()
    try:
        ready = origin.machine.prepare(origin.signature.parameters, given)
        found = origin.elaborated(
            {}, {}, lambda dim: dim_size(origin.signature.parameters, ready, dim)
        )
        assert isinstance(found.program, Kernel)
        run(found.program, ready, Options(recording=recording, check=False))
    except DiagnosticError:
        return []  # what is wrong with a program is another test's
    known = ValueRanges(found.program)
    bad = []
    for event in recording.events:
        if event.out is None:
            continue
        low, high = known.of(event.out)
        dtype = event.out.type.dtype
        tile = np.asarray(event.frame[recording.slots[event.out]])
        numbers = tile.astype(np.float64)
        near = 2.0 ** (1 - dtype.mantissa) if dtype.is_float else 0.0
        with np.errstate(invalid="ignore"):
            is_out = (numbers < low - abs(low) * near) | (numbers > high + abs(high) * near)
        if is_out.any():
            bad.append(
                f"{seed}: {event.out} at {event.loc} has {numbers[is_out][0]}, not {low} to {high}"
            )
    return bad


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(n, marks=pytest.mark.deep) for n in range(1, 40))]
)
def test_no_number_lies_outside(first: int) -> None:
    bad = [text for seed in range(first * 25, first * 25 + 25) for text in _outside(seed)]
    assert not bad
