"""Code for CPUs that are not this one: nothing beyond their level, and Arm's run in QEMU."""

from __future__ import annotations

import functools
import random
import re
from dataclasses import replace

import numpy as np
import pytest
from dslc.codegen.cpu.llvm.engine import assembly, compile_module
from dslc.codegen.cpu.llvm.printer import print_llvm
from dslc.codegen.cpu.llvm.processors import capabilities, triple_of
from dslc.codegen.cpu.tools.elf_library import link_elf
from dslc.compiler.dtypes import F32, INDEX
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.targets.cpu import Processor, processor_by_name
from dslc.compiler.vector.atoms import ATOMS, DotAtom
from dslc.compiler.vector.function import Module, Parameter
from dslc.compiler.vector.interpreter import interpret
from dslc.compiler.vector.legal import legalise
from dslc.compiler.vector.text import parse
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Register
from dslc.runtime.aarch64_emulator import Emulator

from strategies.native_vector import aligned
from strategies.random_vector import random_function, random_source, read_results, same
from strategies.vector_cases import BODIES, CONTROL, SIZE, body_of, dot_of, source
from support.aarch64 import guest_program, needs_emulator

# The emulator calls a kernel with its arguments in memory.
ENTRY = """
function entry(%words: ptr, %begin: index, %end: index, %scratch: ptr) {
  %src = load %words[0] : ptr
  %dst = load %words[8] : ptr
  %n = load %words[16] : index
  %status = call f, %src, %dst, %n : i32
  return %status
}
"""
_BEYOND_AVX2 = re.compile(r"%zmm|%[xy]mm(1[6-9]|2\d|3[01])\b|%k[0-7]\b|\{z\}|\bvp?dp|\bv\w+bf16")


def assembly_of(module: Module, processor: Processor) -> str:
    triple = triple_of(processor, "linux")
    legal = legalise(module, capabilities(processor))
    return assembly(print_llvm(legal, triple, processor.tune), triple, processor)


@pytest.mark.parametrize("seed", range(4))
def test_code_for_v3_has_no_instruction_beyond_it(seed: int) -> None:
    module = Module((random_function(random.Random(seed)).function,))
    text = assembly_of(module, processor_by_name("cpu:x86-64-v3"))
    assert not _BEYOND_AVX2.search(text)
    assert "call" not in text


def test_the_search_finds_what_is_beyond() -> None:
    module = parse(
        """
        function f(%a: ptr) {
          %x = load %a[0] : f32x16
          %y = sqrt %x : f32x16
          store %a[0], %y
        }
        """
    )
    assert _BEYOND_AVX2.search(assembly_of(module, processor_by_name("cpu:x86-64-v4")))


@functools.cache
def emulator() -> Emulator:
    needs_emulator()
    return Emulator(guest_program())


def run_emulated(module: Module, processor: Processor, *words: Array | int) -> None:
    """Call `f` of a module in the emulator; the second word is an array that it writes."""
    (entry,) = parse("function f(%a: ptr, %b: ptr, %n: index) {\n}\n" + ENTRY).functions[1:]
    library = link_elf([compile_module(Module((*module.functions, entry)), processor)])
    assert emulator().load(library).call("entry", words, {1}, [(0, 1)]) >= 0


ARMS = [processor_by_name(f"cpu:{name}") for name in ("armv8-a", "neoverse-v2")]


@pytest.mark.deep
@pytest.mark.parametrize("processor", ARMS, ids=lambda p: p.tune)
def test_random_functions_on_an_emulated_arm_cpu(processor: Processor) -> None:
    for seed in range(100):
        rng = random.Random(seed)
        made = random_function(rng)
        module, source, n = Module((made.function,)), random_source(rng), rng.randrange(9)
        want, have = aligned(made.bytes), np.zeros(made.bytes, np.uint8)
        with np.errstate(all="ignore"):
            interpret(module, "f", source.copy(), want, n)
            run_emulated(module, processor, source, have, n)
            results = zip(read_results(want, made), read_results(have, made), strict=True)
            for (x, y), (_, type_) in zip(results, made.results, strict=True):
                assert same(x, y, type_.dtype), (seed, type_, x, y)


def with_number(module: Module) -> Module:
    """The functions, the last of which takes a number that it does not read."""
    *others, last = module.functions
    number = Parameter(Register(VectorType(INDEX), "n"))
    return Module((*others, replace(last, params=(*last.params, number))))


@pytest.mark.deep
@pytest.mark.parametrize("processor", ARMS, ids=lambda p: p.tune)
@pytest.mark.parametrize("name", [*BODIES, "control"])
def test_instructions_on_an_emulated_arm_cpu(name: str, processor: Processor) -> None:
    module = with_number(parse(CONTROL) if name == "control" else body_of(name))
    want, have = aligned(SIZE), np.zeros(SIZE, np.uint8)
    interpret(module, "f", source(), want, 0)
    run_emulated(module, processor, source(), have, 0)
    np.testing.assert_array_equal(have, want)


@pytest.mark.deep
@pytest.mark.parametrize("processor", ARMS, ids=lambda p: p.tune)
@pytest.mark.parametrize("atom", ATOMS.values(), ids=lambda a: a.name)
def test_atoms_on_an_emulated_arm_cpu(atom: DotAtom, processor: Processor) -> None:
    for lanes in (4, 8, 20):
        module, given = dot_of(atom, lanes)
        module = with_number(module)
        want, have = aligned(SIZE), np.zeros(SIZE, np.uint8)
        interpret(module, "f", given, want, 0)
        run_emulated(module, processor, given, have, 0)
        if atom.acc == F32:
            np.testing.assert_allclose(have.view(np.float32), want.view(np.float32), 1e-2, 1e-2)
        else:
            np.testing.assert_array_equal(have, want)
