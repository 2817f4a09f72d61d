"""What a call lets its kernels rely on: divisors of dims, the alignment of tensors."""

from __future__ import annotations

from dslc.calls.argument_facts import Facts, divisor_facts, with_facts
from dslc.checker import check_module
from dslc.compiler.ir import Kernel, Memory, Program, TileProgram
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.verify import verify
from dslc.compiler.targets import find_target
from dslc.frontend import parse_tile

SOURCE = """
kernel add(x: f32[N], y: f32[N], z: out f32[N]):
    for n in parallel(range(0, N, 256)):
        z[n : n + 256] = x[n : n + 256] + y[n : n + 256]

kernel rows(x: f32[M, N], y: out f32[M, N]):
    for m in parallel(range(M)):
        y[m, 0 : 64] = x[m, 0 : 64]

program both(x: f32[A, 2 * B], y: out f32[A, 2 * B], v: f32[B], w: out f32[B]):
    t = buffer(f32, [A, 2 * B])
    rows(x, t)
    rows(t, y)
    add(v, v, w)
"""
GPU, HOST = find_target("cuda:sm_90a"), find_target("interp")


def elaborated(name: str) -> TileProgram:
    module = check_module(parse_tile(SOURCE, "facts.tile"))
    return module.templates[name].elaborate({}, {})


def tensors(kernel: Kernel) -> dict[str, int | None]:
    return {p.name: p.align for p in kernel.params if isinstance(p, Memory)}


def texts(program: TileProgram) -> list[str]:
    return [r.text for r in program.requires]


def test_divisors_are_those_of_the_target() -> None:
    sizes = {"M": 32, "N": 33, "K": 0}
    assert divisor_facts(GPU, ["M", "N", "K", "Q"], sizes.get) == (("M", 16), ("K", 16))
    assert divisor_facts(HOST, ["M"], sizes.get) == ()
    sizes = {"M": 24, "N": 50264}
    assert divisor_facts(GPU, ["M", "N"], sizes.get, counts={"M"}) == (("N", 8),)


def test_a_kernel_requires_its_divisors_and_knows_alignments() -> None:
    kernel = with_facts(elaborated("add"), Facts((("N", 16),), (("y", 4),)), GPU)
    assert isinstance(kernel, Kernel)
    assert texts(kernel) == ["N % 16 == 0"]
    assert tensors(kernel) == {"x": None, "y": 4, "z": None}
    verify(kernel)
    again = parse_program(print_program(kernel))
    assert isinstance(again, Kernel)
    assert tensors(again) == tensors(kernel)


def test_the_kernels_of_a_program_rely_on_what_follows_for_them() -> None:
    facts = Facts((("A", 16), ("B", 16)), (("x", 4), ("v", 8)))
    program = with_facts(elaborated("both"), facts, GPU)
    assert isinstance(program, Program)
    verify(program)
    assert texts(program) == ["A % 16 == 0", "B % 16 == 0"]
    first, second, last = (c.kernel for c in program.calls)
    assert texts(first) == texts(second) == ["M % 16 == 0", "N % 16 == 0"]
    assert tensors(first) == {"x": 4, "y": None}
    assert tensors(second) == {"x": None, "y": None}
    assert tensors(last) == {"x": 8, "y": 8, "z": None}
    again = parse_program(print_program(program))
    assert texts(again) == texts(program)


def test_what_does_not_follow_is_not_relied_on() -> None:
    program = with_facts(elaborated("both"), Facts((("A", 16),)), GPU)
    assert isinstance(program, Program)
    first, second, last = (c.kernel for c in program.calls)
    assert texts(first) == texts(second) == ["M % 16 == 0", "N % 2 == 0"]  # 2 * B of any B
    assert not texts(last)


def test_parts_of_tensors_begin_where_their_offsets_and_their_tensors_do() -> None:
    text = SOURCE.split("program", maxsplit=1)[0] + (
        "program parts(x: f32[A, 2, B], y: out f32[A, B]):\n"
        "    rows(x[:, 1], y)\n    add(x[0, 1], x[0, 1, 0:B], y[1])\n"
    )
    plain = check_module(parse_tile(text, "facts.tile")).templates["parts"].elaborate({}, {})
    assert isinstance(plain, Program)
    assert [v.memory.align for v in plain.views] == [4, 4, 4]
    for facts, (x, y) in (((), (16, 16)), ((("x", 8),), (8, 16)), ((("y", 4),), (16, 4))):
        program = with_facts(plain, Facts((("A", 16), ("B", 16)), facts), GPU)
        assert isinstance(program, Program)
        verify(program)
        rows, add = (c.kernel for c in program.calls)
        assert tensors(rows) == {"x": x, "y": None if y == 16 else y}
        assert tensors(add) == {"x": x, "y": x, "z": y}
        assert {"M % 16 == 0", "N % 16 == 0", "x_step % 16 == 0"} == {*texts(rows)}
