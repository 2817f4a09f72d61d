"""Code for CPUs that are not this one: nothing beyond their level, and Arm's run in QEMU."""

from __future__ import annotations

import functools
import random
import re

import numpy as np
import pytest
from dslc.codegen.cpu.llvm.engine import assembly, compile_module
from dslc.codegen.cpu.llvm.printer import print_llvm
from dslc.codegen.cpu.llvm.processors import capabilities, triple_of
from dslc.codegen.cpu.tools.elf_library import link_elf
from dslc.compiler.targets.cpu import Processor, processor_by_name
from dslc.compiler.vector.function import Module
from dslc.compiler.vector.interpreter import interpret
from dslc.compiler.vector.legal import legalise
from dslc.compiler.vector.text import parse
from dslc.runtime.aarch64_emulator import Emulator

from strategies.native_vector import aligned
from strategies.random_vector import Made, random_function, random_source, read_results, same
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


def check(made: Made, rng: random.Random, processor: Processor) -> None:
    (entry,) = parse("function f(%a: ptr, %b: ptr, %n: index) {\n}\n" + ENTRY).functions[1:]
    source, n = random_source(rng), rng.randrange(9)
    want, have = aligned(made.bytes), np.zeros(made.bytes, np.uint8)
    with np.errstate(all="ignore"):
        interpret(Module((made.function,)), "f", source.copy(), want, n)
    library = link_elf([compile_module(Module((made.function, entry)), processor)])
    loaded = emulator().load(library)
    assert loaded.call("entry", [source, have, n], {1}, [(0, 1)]) == 0
    pairs = zip(read_results(want, made), read_results(have, made), made.results, strict=True)
    for x, y, (_, type_) in pairs:
        with np.errstate(all="ignore"):
            assert same(x, y, type_.dtype), (type_, x, y)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["armv8-a", "neoverse-v2"])
def test_random_functions_on_an_emulated_arm_cpu(name: str) -> None:
    for seed in range(100):
        rng = random.Random(seed)
        check(random_function(rng), rng, processor_by_name(f"cpu:{name}"))
