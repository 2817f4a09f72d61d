"""Whatever emitters can write, a clang for AMD GPUs knows: operations, casts, matrix instructions."""

from __future__ import annotations

import pytest
from dslc.codegen.c_family.products.matrix import name_of
from dslc.codegen.hip import mfma
from dslc.codegen.hip.generate import emit
from dslc.codegen.hip.prelude import functions, used, vectors
from dslc.codegen.hip.toolchain import compile_hip, compile_isa
from dslc.compiler.dtypes import DType, parse_dtype
from dslc.compiler.targets import find_target

from support.generated.every_operation import TRIED, joined
from support.hip.toolchain import compiles, understood

pytestmark = pytest.mark.usefixtures("clang")
CHIPS = ("gfx942", "gfx950")


@pytest.mark.parametrize("dtype", TRIED, ids=str)
@pytest.mark.sampled(3)
def test_every_operation_of_a_dtype_is_understood(dtype: DType) -> None:
    understood(emit(joined(dtype), find_target("hip:gfx942"))[0], "gfx942")


@pytest.mark.parametrize("name", ["f32", pytest.param("i64", marks=pytest.mark.deep)])
def test_every_operation_of_a_dtype_compiles(name: str) -> None:
    compiles(emit(joined(parse_dtype(name)), find_target("hip:gfx942"))[0], "gfx942")


def test_what_clang_does_not_know_is_told() -> None:
    with pytest.raises(ValueError, match="frobnicate"):
        understood('extern "C" __attribute__((global)) void k() { frobnicate(); }\n', "gfx942")


@pytest.mark.parametrize("chip", CHIPS)
def test_every_matrix_instruction_of_a_chip_is_one_instruction_of_its_isa(chip: str) -> None:
    atoms = find_target(f"hip:{chip}").atoms
    calls = [(name_of(a, x, y), a, c) for a in atoms for x, y, c in a.types]
    types = {"f32": "float", "i32": "int"}
    text = ""
    for name, _, c in calls:
        text += f'extern "C" __attribute__((global)) void k_{name}({types[c]}* d, const '
        of_floats = name.endswith(("_f32_f32", "_tf32_tf32"))
        text += f"{'float' if of_floats else 'unsigned'}* a) {{ {name}(d, a, a + 8); }}\n"
    head = "#define DEVICE static __attribute__((device, always_inline)) inline\n"
    needed = used(text)
    isa = compile_isa(f"{head}{vectors(needed)}{needed}\n{text}", chip)
    for name, atom, _ in calls:
        body = isa.partition(f"\nk_{name}:")[2].partition("s_endpgm")[0]
        found = [line.split()[0] for line in body.splitlines() if line.strip().startswith("v_mfma")]
        assert len(found) == 1, name
        assert f"_{atom.m}x{atom.n}x{atom.k}" in found[0]


def test_every_function_compiles_for_both_chips_by_itself() -> None:
    """A file of the library names nothing that it does not bring along."""
    templates = {"floordiv", "floormod", "shift_left", "shift_right", "ipow", "imin", "imax"}
    for name, code in functions().items():
        if name in mfma.functions() or name in templates or code.startswith("template"):
            continue
        needed = used(name)
        assert f" {name}(" in needed or f"*{name}(" in needed or f"* {name}(" in needed
    plain = [n for n in functions() if n not in mfma.functions()]
    text = used(" ".join(plain))
    head = "#define DEVICE static __attribute__((device, always_inline)) inline\n"
    for chip in CHIPS:
        compile_hip(f"{head}{vectors(text)}{text}\n", chip)
