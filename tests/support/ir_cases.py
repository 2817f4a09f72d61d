"""The cases of tests/ir: a program before a pass, and what becomes of it, a file each.

    # A row that a loop does not change is loaded before it.
    # target: cuda:sm_90a units=3     whose list has the pass, with these of its numbers changed
    # options: stages=3               fields of the pass that are not the target's
    # sizes: M=20 K=64                dims and scalars of a run before and after; others are 64
    # meaning: after, because ...     runs the program after the pass alone; `none` runs neither

    kernel f[M](@x: in f32[M]) {
      ...
    }
    =>
    kernel f ...

Only the first line must be there: without a target the first that has the pass is taken. After the
arrow stands the program, or `unchanged`, or the error: `DSL0541: message`.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import DType, storage_dtype
from dslc.compiler.interpreter import Options, run
from dslc.compiler.interpreter.dims import evaluate
from dslc.compiler.ir import Kernel, Memory, Role, TileProgram
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.verify import verify
from dslc.compiler.manifest import signature_of
from dslc.compiler.passes.pass_manager import Pass
from dslc.compiler.targets import TARGETS
from dslc.machines.registry import find_machine
from dslc.runtime.packing import pack

CASES = Path(__file__).parents[1] / "ir"
ARROW = "\n=>\n"
UNCHANGED = "unchanged\n"
_KEYS = ("target", "options", "sizes", "meaning")
_EXTENT = 64  # of a dim that a case does not give


@dataclass(frozen=True, slots=True)
class Case:
    """A file of tests/ir. `after` ends with a newline, as `before` does."""

    path: Path
    head: str
    before: str
    after: str

    @property
    def name(self) -> str:
        """PASS/CASE."""
        return f"{self.path.parent.name}/{self.path.stem}"

    @property
    def text(self) -> str:
        """What the file is to contain."""
        return f"{self.head}\n{self.before}{ARROW.lstrip()}{self.after}"

    @property
    def says(self) -> str:
        """What the case shows."""
        return " ".join(x for x in _comments(self.head) if x.partition(":")[0] not in _KEYS)

    def setting(self, key: str) -> str:
        """What stands behind `# key:`, or nothing."""
        lines = (x.partition(":") for x in _comments(self.head))
        return next((value.strip() for word, _, value in lines if word == key), "")

    def numbers(self, key: str) -> dict[str, Any]:
        """The `name=value` of a setting."""
        parts = (x.partition("=") for x in self.setting(key).split() if "=" in x)
        return {name: ast.literal_eval(value) for name, _, value in parts}

    def step(self) -> Pass:
        """The pass, as the target's list has it but for the options."""
        found = pass_of(self.path.parent.name, self.setting("target").partition(" ")[0])
        changed = self.numbers("target")
        fields: dict[str, Any] = self.numbers("options")
        if changed:
            target = getattr(found, "target")  # noqa: B009 - of those passes that have one
            fields = {"target": replace(target, **changed), **fields}
        return replace(found, **fields) if fields else found  # type: ignore[type-var]

    def program(self) -> TileProgram:
        """What the pass is given."""
        found = parse_program(self.before)
        verify(found)
        return found

    def outcome(self) -> str:
        """What stands after the arrow if the pass is right. The verifier has looked at the program."""
        before = self.program()
        try:
            after = self.step()(before)
        except DiagnosticError as e:
            (first, *_) = e.diagnostics
            return f"{first.code}: {first.message.splitlines()[0]}\n"
        verify(after)
        return UNCHANGED if after is before else print_program(after)


def _comments(head: str) -> list[str]:
    return [line.removeprefix("#").strip() for line in head.splitlines() if line.startswith("#")]


def read_case(path: Path) -> Case:
    """A case from its file; an expectation that is not there yet is empty."""
    text = path.read_text("utf-8")
    head, _, programs = text.partition("\n\n")
    before, _, after = programs.partition(ARROW)
    return Case(path, f"{head}\n", f"{before.strip()}\n", after)


def cases() -> list[Case]:
    """All of them, by name."""
    return [read_case(p) for p in sorted(CASES.glob("*/*.tir"))]


@functools.cache
def passes() -> dict[str, dict[str, Pass]]:
    """Every pass of every target's list: by its name, then by the target's."""
    found: dict[str, dict[str, Pass]] = {}
    for name in TARGETS:
        for step in find_machine(name).passes({}):
            found.setdefault(step.name, {})[name] = step
    return found


def pass_of(name: str, target: str = "") -> Pass:
    """A pass of a target's list, or of the first list that has it."""
    found = passes()[name]
    return found[target] if target else next(iter(found.values()))


def same_meaning(case: Case) -> None:
    """The programs before and after leave the same bits in the same small drawn arguments."""
    before, after = (parse_program(text) for text in (case.before, case.after))
    assert isinstance(before, Kernel)
    assert isinstance(after, Kernel)
    sizes, wanted = case.numbers("sizes"), case.setting("meaning").partition(",")[0]
    stored = {p.name for p in after.packed} - {p.name for p in before.packed}
    found = [
        _results(kernel, dict(_arguments(before, sizes)), stored)
        for kernel in {"": (before, after), "after": (after,), "none": ()}[wanted]
    ]
    for name, array in found[0].items() if found else ():
        np.testing.assert_array_equal(found[-1][name], array, err_msg=f"{case.name}: {name}")


def _results(kernel: Kernel, given: dict[str, Any], stored: set[str]) -> dict[str, Any]:
    """What a kernel writes; codes that the pass has chosen a storage for are packed first."""
    for param in signature_of(kernel, {}).params:
        if param.packed and (param.name in stored or param.packed["scheme"] == "row"):
            given[param.name] = pack(given[param.name], param.packed)
    run(kernel, given, Options(shuffle=1))
    written = {m.name for m in kernel.tensors if m.role is not Role.IN}
    return {name: array for name, array in given.items() if name in written}


def _arguments(kernel: Kernel, sizes: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Small whole numbers, so that sums of products are the same in every order."""
    known = {d.name: sizes.get(d.name, _EXTENT) for d in kernel.dims}
    for i, param in enumerate(kernel.params):
        if isinstance(param, Memory):
            shape = [evaluate(e, {**known, **sizes}) for e in param.shape]
            yield param.name, _drawn(param.dtype, shape, np.random.default_rng(i))
        else:
            yield param.name, sizes.get(param.name, 3)


def _drawn(dtype: DType, shape: list[int], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    stored = storage_dtype(dtype)
    if dtype.is_float and dtype.bits > 8:
        return rng.integers(-3, 4, shape).astype(stored)
    if dtype.name == "e8m0":
        return rng.integers(125, 130, shape).astype(stored)
    if dtype.is_float:
        return rng.integers(0, 1 << (dtype.bits - 2), shape).astype(stored)
    low, high = dtype.integer_range if dtype.is_integer else (0, 1)
    return rng.integers(max(low, -3), min(high, 4), shape, endpoint=True).astype(stored)
