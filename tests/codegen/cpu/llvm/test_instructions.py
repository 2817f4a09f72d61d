"""Instructions that random functions have not: natively as in the interpreter, byte for byte."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.codegen.cpu.llvm.engine import compile_module, object_code
from dslc.codegen.cpu.llvm.processors import capabilities
from dslc.codegen.cpu.tools.elf_objects import read_object
from dslc.compiler.dtypes import F16, F32, F64, DType, all_dtypes
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.targets.cpu import Processor, processor_by_name
from dslc.compiler.vector.atoms import ATOMS
from dslc.compiler.vector.building import Builder
from dslc.compiler.vector.function import Module
from dslc.compiler.vector.interpreter import interpret
from dslc.compiler.vector.legal import legalise
from dslc.compiler.vector.legal.mathematics import FUNCTIONS
from dslc.compiler.vector.text import parse
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.verifying import verify

from strategies.native_vector import PROCESSORS, aligned, load
from strategies.vector_cases import BODIES, CONTROL, SIZE, body_of, dot_of, source


def compared(module: Module, processor: Processor, a: Array) -> tuple[Array, Array]:
    """What the interpreter and the machine leave in b."""
    want, have = aligned(SIZE), aligned(SIZE)
    status = interpret(module, "f", a, want)
    assert load(compile_module(module, processor), "f")(a, have) == status
    return want, have


@pytest.mark.parametrize("name", sorted(PROCESSORS))
@pytest.mark.parametrize("body", BODIES)
def test_instructions(body: str, name: str) -> None:
    want, have = compared(body_of(body), PROCESSORS[name], source())
    np.testing.assert_array_equal(have, want)


@pytest.mark.parametrize("name", sorted(PROCESSORS))
def test_control(name: str) -> None:
    module = parse(CONTROL)
    verify(module)
    want, have = compared(module, PROCESSORS[name], source())
    np.testing.assert_array_equal(have, want)


@pytest.mark.parametrize("name", sorted(PROCESSORS))
@pytest.mark.parametrize("lanes", [4, 24])
def test_atoms(lanes: int, name: str) -> None:
    """Those of integers exactly; sums of bf16 to the last places of f32."""
    for atom in ATOMS.values():
        if lanes % (atom.m * atom.n):
            continue
        module, given = dot_of(atom, lanes)
        want, have = compared(module, PROCESSORS[name], given)
        if atom.acc == F32:
            np.testing.assert_allclose(have.view(np.float32), want.view(np.float32), 1e-5, 1e-5)
        else:
            np.testing.assert_array_equal(have, want, atom.name)


@pytest.mark.parametrize("name", sorted(PROCESSORS))
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_functions_are_what_the_interpreter_makes_of_their_polynomials(
    dtype: DType, name: str
) -> None:
    kind = np.float32 if dtype == F32 else np.float64
    lanes, processor = 16 if dtype == F32 else 8, PROCESSORS[name]
    numbers = np.random.default_rng(1)
    a = aligned(SIZE).view(kind)
    a[:] = numbers.standard_normal(len(a)) * numbers.choice([0.1, 1, 10, 100, 1e7], len(a))
    a[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40]
    for op in (*FUNCTIONS, "pow", "mod", "floordiv"):
        b = Builder("f")
        x, out = b.pointer("a", align=64), b.pointer("b", align=64)
        value = b.load(x, 0, VectorType(dtype, lanes))
        other = b.load(x, lanes * kind(0).itemsize, VectorType(dtype, lanes))
        found = b.unary(op, value) if op in FUNCTIONS else b.binary(op, value, other)
        b.store(out, 0, found)
        legal = legalise(Module((b.function(),)), capabilities(processor))
        want, have = (y.view(kind) for y in compared(legal, processor, a.view(np.uint8)))
        np.testing.assert_array_equal(have, want, op)


def test_objects_call_nothing_and_are_the_same_each_time() -> None:
    b = Builder("f")
    x = b.pointer("a")
    for dtype, lanes in ((F32, 16), (F64, 3)):
        value = b.load(x, 0, VectorType(dtype, lanes))
        for op in ("exp", "log2", "cos", "erf", "floor", "round", "trunc", "sqrt"):
            b.store(x, 0, b.unary(op, value))
        for op in ("exp2", "floor", "round", "trunc", "sqrt", "sin"):
            b.store(x, 0, b.unary(op, b.extract(value, 1)))
        b.store(x, 0, b.binary("pow", value, value))
        b.store(x, 0, b.convert(value, F16))
    module = Module((b.function(),))
    for name in ("x86-64-v3", "znver4", "neoverse-v2"):
        processor = processor_by_name(f"cpu:{name}")
        content = compile_module(module, processor)
        assert compile_module(module, processor) == content
        assert not [s.name for s in read_object(content).symbols if s.is_global and not s.section]


MXCSR = """
target triple = "x86_64-unknown-linux-gnu"
declare void @llvm.x86.sse.ldmxcsr(ptr)
define i32 @set(ptr %a, ptr %b, i64 %n) {
  call void @llvm.x86.sse.ldmxcsr(ptr %a)
  ret i32 0
}
"""
SMALL = [d for d in all_dtypes() if d.is_float and d.bits <= 8]


@pytest.mark.skipif("znver4" not in PROCESSORS, reason="the word is x86's")
@pytest.mark.parametrize("dtype", [SMALL[3], SMALL[12], SMALL[-3], SMALL[-1]], ids=str)
def test_small_floats_where_arithmetic_flushes_subnormals(dtype: DType) -> None:
    """Both ways, with subnormal operands and results of f32 taken as 0."""
    processor = PROCESSORS["znver4"]
    b = Builder("f")
    x, out = b.pointer("a", align=64), b.pointer("b", align=64)
    wide = b.convert(b.load(x, 0, VectorType(dtype, 256)), F32)
    b.store(out, 0, wide)
    b.store(out, 1024, b.convert(b.load(x, 256, VectorType(F32, 256)), dtype))
    module = Module((b.function(),))
    function = load(compile_module(module, processor), "f")
    environment = load(object_code(MXCSR, "x86_64-unknown-linux-gnu", processor), "set")
    given, want, have = aligned(2048), aligned(2048), aligned(2048)
    given[:256] = np.arange(256)
    numbers = np.random.default_rng(1).standard_normal(256).astype(np.float32)
    given[256:1280] = (numbers * np.ldexp(np.float32(1), np.arange(256) - 128)).view(np.uint8)
    interpret(module, "f", given, want)
    words = np.array([0x9FC0, 0x1F80], np.uint32)
    environment(words[:1], words, 0)
    function(given, have)
    environment(words[1:], words, 0)
    np.testing.assert_array_equal(have, want)
