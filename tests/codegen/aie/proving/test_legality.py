"""Plans that break a rule of the array once: the prover names the tensor and the rule."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable

import pytest
from dslc.codegen.aie.planning.plan import Fifo, Plan
from dslc.codegen.aie.planning.plan_kernel import Planned, plan_kernel
from dslc.codegen.aie.proving.legality import prove
from dslc.compiler.diagnostics import DiagnosticError

from support.npu.kernels import EXAMPLES, TARGET, case, lowered

_GEMM = case(
    EXAMPLES / "gemm.tile", "gemm", {"BM": 16, "BN": 64, "BK": 32}, T="bf16", M=64, N=128, K=64
).planned


def fifo(plan: Plan, name: str) -> Fifo:
    return next(f for f in plan.fifos if f.name == name)


def outer(plan: Plan) -> Fifo:
    return next(f for f in plan.fifos if f.name == "a_0_l2")


def task(change: Callable[[Plan], dict[str, object]]) -> Callable[[Plan], None]:
    def edit(plan: Plan) -> None:
        first, *others = plan.phases[0]
        transfer = dataclasses.replace(first.transfer, **change(plan))  # type: ignore[arg-type]
        plan.phases[0] = [dataclasses.replace(first, transfer=transfer), *others]

    return edit


def set_field(name: str, field: str, value: object) -> Callable[[Plan], None]:
    return lambda plan: setattr(fifo(plan, name), field, value)


def more_fifos(count: int) -> Callable[[Plan], None]:
    def edit(plan: Plan) -> None:
        for number in range(count):
            plan.fifos.append(dataclasses.replace(fifo(plan, "b_0"), name=f"again_{number}"))

    return edit


def five_tasks(plan: Plan) -> None:
    first = plan.phases[0][0]
    plan.phases[0] += [dataclasses.replace(first, descriptor=8 + n) for n in range(4)]


def nobody_waits(plan: Plan) -> None:
    plan.phases[0] = [dataclasses.replace(t, last=False) for t in plan.phases[0]]


def same_descriptor(plan: Plan) -> None:
    plan.phases[0] = [dataclasses.replace(t, descriptor=0) for t in plan.phases[0]]


def no_descriptor(plan: Plan) -> None:
    first, *others = plan.phases[0]
    plan.phases[0] = [dataclasses.replace(first, descriptor=16), *others]


def task_is_missing(plan: Plan) -> None:
    plan.phases[0] = plan.phases[0][1:]


def far_apart(plan: Plan) -> None:
    for f in plan.fifos:
        if f.name.startswith("a_"):
            f.producer = (7, f.producer[1])


_BROKEN: list[tuple[str, Callable[[Plan], None], str]] = [
    ("channels", more_fifos(4), "a compute tile has 2"),
    ("objects of a FIFO", set_field("a_0", "depth", 0), "waits for ever"),
    ("lock values", set_field("a_0_l2", "depth", 64), "a lock counts to 63|48|24 for these"),
    ("descriptors", set_field("a_0", "depth", 20), "descriptors|core holds|tile .* holds"),
    ("words", set_field("c_out_0_l2", "elements", 4097), "cover|words of 4 bytes"),
    ("parts", set_field("c_out_0_l2", "elements", 8192), "cover the larger one"),
    ("memory of a memory tile", set_field("a_0_l2", "elements", 1 << 18), "cover|holds"),
    ("wrap", set_field("a_0", "dims", ((2, 256), (4, 8), (8, 32), (8, 1), (1, 1))), "loops|its loops"),
    ("four loops", set_field("a_0", "dims", ((2, 8), (2, 8), (2, 8), (8, 8), (8, 1))), "5 loops"),
    ("a run of a column", set_field("a_0", "dims", ((2, 256), (32, 2), (8, 32))), "contiguous"),
    ("an odd stride", set_field("a_0", "dims", ((16, 33), (32, 1))), "strides are whole words"),
    ("too many steps", set_field("a_0", "dims", ((1024, 2), (2, 1))), "counts to 1023"),
    ("a stride too long", set_field("a_0", "dims", ((16, 1 << 20), (32, 1))), "it is 1 to"),
    ("fewer elements", set_field("a_0", "dims", ((15, 32), (32, 1))), "number of elements"),
    ("queue", five_tasks, "a queue holds 4"),
    ("waiting", nobody_waits, "a phase ends when all have"),
    ("a descriptor in use", same_descriptor, "when its task has ended"),
    ("a descriptor that is not there", no_descriptor, "a shim tile has 16"),
    ("balance", task_is_missing, "fewer or more objects"),
    ("iteration", task(lambda _: {"dims": ((65, 64), (1, 0), (16, 64), (32, 1))}), "at most 64"),
    ("repeats", task(lambda _: {"dims": ((257, 0), (1, 0), (16, 64), (32, 1))}), "at most 256"),
    ("a task's steps", task(lambda _: {"dims": ((1, 0), (1, 0), (1024, 64), (8, 1))}), "counts to"),
    ("past the tensor", task(lambda _: {"offset": 4000}), "the tensor has"),
    ("within a word", task(lambda _: {"offset": 1}), "begins at a word"),
]  # fmt: skip


@pytest.mark.parametrize(("title", "edit", "message"), _BROKEN, ids=[b[0] for b in _BROKEN])
def test_a_broken_plan_is_refused(title: str, edit: Callable[[Plan], None], message: str) -> None:
    planned = _copied(_GEMM)
    edit(planned.plan)
    with pytest.raises(DiagnosticError, match=message) as found:
        prove(planned.plan, planned.programs)
    assert found.value.diagnostics[0].code in ("DSL0553", "DSL0554"), title
    assert "tensor " in str(found.value)


def test_the_plan_itself_is_legal() -> None:
    planned = _copied(_GEMM)
    prove(planned.plan, planned.programs)


def test_a_program_that_is_too_long_is_refused() -> None:
    planned = _copied(_GEMM)
    tile, program = next(iter(planned.programs.items()))
    planned.programs[tile] = dataclasses.replace(program, operations=2000)
    with pytest.raises(DiagnosticError, match="program memory has 16384"):
        prove(planned.plan, planned.programs)


def _copied(planned: Planned) -> Planned:
    """The same plan with FIFOs and phases of its own; the kernel's nodes stay the same."""
    plan = copy.copy(planned.plan)
    copies = {f: copy.copy(f) for f in plan.fifos}
    plan.fifos = list(copies.values())
    plan.links = [
        dataclasses.replace(
            link,
            inputs=tuple(copies[f] for f in link.inputs),
            outputs=tuple(copies[f] for f in link.outputs),
        )
        for link in plan.links
    ]
    plan.phases = [
        [dataclasses.replace(t, fifo=copies[t.fifo]) for t in phase] for phase in plan.phases
    ]
    return Planned(plan, dict(planned.programs), planned.blocking)


_REFUSED = [
    ("DSL0552", "tensors y, z, w are written in a turn", """
kernel k(x: f32[N], y: out f32[N], z: out i32[N], w: out bf16[N]):
    for n in parallel(range(0, N, 16)):
        y[n : n + 16] = x[n : n + 16]
        z[n : n + 16] = cast(x[n : n + 16], i32)
        w[n : n + 16] = cast(x[n : n + 16], bf16)
""", {"N": 64}),
    ("DSL0553", "a core holds", """
kernel k(x: f32[M, N], y: out f32[M, N]):
    for m in parallel(range(0, M, 64)):
        y[m : m + 64, :] = x[m : m + 64, :] + 1.0
""", {"M": 64, "N": 256}),
    ("DSL0590", "begins within a word", """
kernel k(x: bf16[N], y: out bf16[N]):
    for n in parallel(range(0, N, 16)):
        y[n : n + 16] = x[n + 1 : n + 17]
""", {"N": 65536}),
    ("DSL0590", "the host does not know how often this loop runs", """
kernel k(x: f32[N], at: i32[1], y: out f32[16]):
    for n in parallel(range(0, 16, 16)):
        total = zeros(f32, [16])
        for l in range(0, at[0], 16):
            total += x[l : l + 16]
        y[n : n + 16] = total
""", {"N": 65536}),
    ("DSL0590", "depends on a scalar of the call or an element of a tensor", """
kernel k(x: f32[N, N], at: i32[1], y: out f32[N, N]):
    for n in parallel(range(0, N, 16)):
        i = at[0]
        y[n, 0:16] = x[i, i : i + 16]
""", {"N": 256}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "message", "source", "sizes"), _REFUSED)
def test_what_does_not_fit_is_said(
    code: str, message: str, source: str, sizes: dict[str, int]
) -> None:
    kernel = lowered(source, "k", **sizes)
    with pytest.raises(DiagnosticError, match=message) as found:
        plan_kernel(kernel, TARGET)
    assert found.value.diagnostics[0].loc is not None
    assert found.value.diagnostics[0].code == code


def test_every_lock_of_a_tile_is_counted() -> None:
    """Two for each end of a FIFO."""
    planned = _copied(_GEMM)
    plan, array = planned.plan, _GEMM.plan.array
    tile = next(iter(plan.cores))
    locks = 2 * sum(tile in (f.producer, *f.consumers) for f in plan.fifos)
    plan.array = dataclasses.replace(array, compute=dataclasses.replace(array.compute, locks=locks))
    prove(plan, planned.programs)
    fewer = dataclasses.replace(array.compute, locks=locks - 1)
    plan.array = dataclasses.replace(array, compute=fewer)
    with pytest.raises(DiagnosticError, match=f"{locks} locks of tile"):
        prove(plan, planned.programs)
