"""The warp's matrix instructions as device functions, written from the atoms of the targets.

`mma_m16n8k32_f8_f8e4m3_f8e5m2(d, a, b)` adds a times b to the accumulators d: pointers to the registers
of one lane's fragments (PTX ISA 8.5, "Matrix multiply-accumulate operation using mma instruction").
"""

from __future__ import annotations

import functools

from dslc.codegen.c_family.ctypes_of import element_type, is_packed
from dslc.codegen.c_family.products.matrix import elements_in_register, name_of
from dslc.compiler.dtypes import DType, dtype_named
from dslc.compiler.targets import TARGETS, Atom

_PTX = {
    "i8": "s8",
    "i4": "s4",
    "i32": "s32",
    "f8e4m3": "e4m3",
    "f8e5m2": "e5m2",
}
_CONSTRAINT = {"f32": "f", "i32": "r", "f64": "d"}


@functools.cache
def functions() -> dict[str, str]:
    """Every instruction of NVIDIA's targets as a function, by name."""
    targets = [t for t in TARGETS.values() if t.family == "cuda"]
    atoms = [a for t in targets for a in t.atoms if a.a is not None and a.b is not None]
    return {
        name_of(atom, a, b): _function(atom, a, b, c)
        for atom in atoms
        if atom.threads == 32
        for a, b, c in atom.types
    }


def _function(atom: Atom, a: str, b: str, c: str) -> str:
    assert atom.a is not None
    assert atom.b is not None
    left, right, result = (dtype_named(n) for n in (a, b, c))
    counts = (
        atom.c.locals,
        atom.a.locals // elements_in_register(left),
        atom.b.locals // elements_in_register(right),
    )
    names, start = [], 0
    for count in counts:
        names.append("{" + ", ".join(f"%{start + i}" for i in range(count)) + "}")
        start += count
    shape = f"m{atom.m}n{atom.n}k{atom.k}"
    types = ".".join(_PTX.get(n, n) for n in (c, a, b, c))
    text = (
        f"mma.sync.aligned.{shape}.row.col.{types} {names[0]}, {names[1]}, {names[2]}, {names[0]};"
    )
    letter = _CONSTRAINT[c]
    outputs = ", ".join(f'"+{letter}"(d[{i}])' for i in range(counts[0]))
    inputs = ", ".join(
        [_input(left, f"a[{i}]") for i in range(counts[1])]
        + [_input(right, f"b[{i}]") for i in range(counts[2])]
    )
    arguments = (
        f"{element_type(result)}* d, const {_register(left)}* a, const {_register(right)}* b"
    )
    return (
        f"DEVICE void {name_of(atom, a, b)}({arguments}) {{\n"
        f'  asm volatile("{text}"\n    : {outputs}\n    : {inputs});\n}}'
    )


def _register(dtype: DType) -> str:
    return "unsigned" if is_packed(dtype) else element_type(dtype)


def _input(dtype: DType, x: str) -> str:
    if dtype.name == "tf32":
        return f'"r"(__float_as_uint({x}))'
    return f'"{"d" if dtype.bits == 64 else "r"}"({x})'
