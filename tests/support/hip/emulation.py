"""A program lowered for an AMD chip, on the host: every kernel's ISA text runs in the emulator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from dslc.codegen.hip.generate import emit
from dslc.codegen.hip.toolchain import compile_isa
from dslc.codegen.quoting import entry_name
from dslc.compiler.ir import Kernel, Memory, TileProgram
from dslc.compiler.ir.values import Role
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target
from dslc.runtime.hip_emulator import Buffer, Module

from support.gpu.emulation import arguments, check_counters, dims_of, run_calls, turns

Edit = Callable[[str], str]


def lower(program: TileProgram, chip: str, **options: int) -> TileProgram:
    """After all passes of the chip."""
    return run_passes(program, gpu_passes(find_target(f"hip:{chip}"), **options))


@functools.lru_cache(maxsize=64)
def isa(kernel: Kernel, chip: str) -> str:
    """The compiler's text for a kernel."""
    text, _ = emit(kernel, find_target(f"hip:{chip}"))
    return compile_isa(text, chip, name=f"{kernel.name}.hip")


@functools.lru_cache(maxsize=64)
def module(text: str) -> Module:
    """An ISA text, translated once."""
    return Module(text)


def execute(
    program: TileProgram,
    chip: str,
    args: Mapping[str, Any],
    seed: int = 0,
    edit: Edit | None = None,
    isa_of: Callable[[Kernel, str], str] = isa,
) -> int:
    """Run a lowered program (its ISA text changed by `edit`); gives the instructions of its waves.

    `isa_of` gives the text of a kernel for a chip.
    """
    executed = 0

    def launch(
        kernel: Kernel, given: Mapping[str, Any], known: Mapping[str, Any], seed: int
    ) -> None:
        nonlocal executed
        dims = {**dims_of(kernel, given), **known}
        words, spaces = arguments(kernel, given, dims)
        text = isa_of(kernel, chip)
        blocks = turns(kernel, dims)
        if not blocks:
            return
        made = module(edit(text) if edit else text)
        roles = {n: p.role for n, p in enumerate(kernel.params) if isinstance(p, Memory)}
        plain = [_passed(w, roles.get(n)) for n, w in enumerate([*words, *spaces])]
        executed += made.launch(
            entry_name(kernel.name), plain, blocks, kernel.threads or 64, seed=seed
        ).instructions
        check_counters(kernel, spaces)

    run_calls(program, args, seed, launch)
    return executed


def _passed(word: Any, role: Role | None) -> Any:
    """An array as its role lets a kernel use it: of outputs nothing but what it wrote itself."""
    if not isinstance(word, np.ndarray):
        return word
    array = word.view(_plain(word))
    if role is Role.IN:
        array.flags.writeable = False  # of this view alone
    return Buffer(array, defined=role is not Role.OUT)


def _plain(array: np.ndarray) -> np.dtype[Any]:
    """A dtype that every reader knows, of the same size."""
    return np.dtype(f"u{array.dtype.itemsize}")
