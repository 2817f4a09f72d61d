"""Products on the matrix units, checked without a GPU: the emitted calls run on all lanes in NumPy.

The instructions' semantics here come from PTX ISA 8.5's fragment tables, written as formulas of the
lane and the register, and not from the layouts of the target.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest
from dslc.codegen.c_family.ctypes_of import element_type, is_packed
from dslc.codegen.c_family.products.instruction_operands import Mismatch
from dslc.codegen.c_family.products.matrix import emit_product, name_of, transposed
from dslc.codegen.c_family.registers import Tile
from dslc.codegen.c_family.writer import Writer
from dslc.codegen.cuda import mma
from dslc.codegen.cuda.tools.toolchain import compile_cubin
from dslc.compiler.dtypes import DType, Kind, decode, encode, parse_dtype, storage_dtype
from dslc.compiler.layout import Layout, Mode, local, parse_layout, reshape, spatial
from dslc.compiler.targets import find_target

from support.gpu.lanes import Pointer, run

LANE = np.arange(32)
G, Q = LANE // 4, LANE % 4
TARGET = find_target("cuda:sm_90a")
ATOMS = [a for a in TARGET.atoms if a.a is not None and a.b is not None and a.threads == 32]
CASES = [(atom, a, b) for atom in ATOMS for a, b, _ in atom.types]


def known(name: str) -> DType:
    found = parse_dtype(name)
    assert found is not None
    return found


def instruction(m: int, k: int, left: DType, right: DType) -> Callable[..., None]:
    """m x 8 x k of a warp, by the tables of PTX ISA 8.5, section 9.7.14."""
    per = mma.elements_in_register(left)

    def compute(d: Any, a: Any, b: Any) -> None:
        d, a, b = (x if isinstance(x, Pointer) else Pointer(x) for x in (d, a, b))
        warps = a[0].shape[-1] // 32
        x, y = np.zeros((warps, m, k)), np.zeros((warps, k, 8))
        for block in range(max(1, k // (4 * per))):
            column = (Q[:, None] * per + np.arange(per)) + 4 * per * block
            for half in range(m // 8):
                word = elements(a[block * (m // 8) + half], left).reshape(warps, 32, per)
                x[:, G[:, None] + 8 * half, column] = word
            y[:, column, G[:, None]] = elements(b[block], right).reshape(warps, 32, per)
        z = x @ y
        for i in range(m // 4):
            d[i] = d[i] + z[:, G + 8 * (i // 2), 2 * Q + i % 2].reshape(-1).astype(d[i].dtype)

    return compute


def elements(words: Any, dtype: DType) -> Any:
    """The values in each register: [threads, elements]."""
    if not is_packed(dtype):
        return words[:, None]
    codes = words[:, None] >> np.arange(0, 32, dtype.bits, dtype=np.uint32)
    codes = codes & np.uint32((1 << dtype.bits) - 1)
    narrow = codes.astype(np.uint16 if dtype.bits == 16 else np.uint8)
    if dtype.kind is Kind.INT:
        shift = 8 - dtype.bits
        return (narrow << shift).astype(np.uint8).view(np.int8) >> shift
    return np.asarray(decode(narrow.view(storage_dtype(dtype)), dtype)).astype(np.float64)


def lay(layout: Layout, values: Any, dtype: DType) -> Any:
    """The values in the registers of each thread: [registers, threads]."""
    table = layout.table()
    held = values[tuple(np.moveaxis(table, -1, 0))]  # [threads, locals]
    if not is_packed(dtype):
        return held.T.astype(storage_dtype(dtype))
    codes = np.asarray(
        encode(
            held.astype(storage_dtype(dtype))
            if dtype.bits >= 8 and not dtype.name.startswith("f8")
            else held,
            dtype,
        )
    )
    codes = codes.view(np.uint16 if dtype.bits == 16 else np.uint8).astype(np.uint32)
    codes = codes & np.uint32((1 << dtype.bits) - 1)
    per = 32 // dtype.bits
    parts = codes.reshape(len(codes), -1, per) << np.arange(0, 32, dtype.bits, dtype=np.uint32)
    return np.bitwise_or.reduce(parts, axis=-1).T.copy()


def get_bits(bits: int, array: Any, i: int) -> Any:
    per = 32 // bits
    return array[i // per] >> np.uint32(i % per * bits) & np.uint32((1 << bits) - 1)


def set_bits(bits: int, array: Any, i: int, x: Any) -> None:
    per = 32 // bits
    mask = ((1 << bits) - 1) << (i % per * bits)
    array[i // per] = array[i // per] & np.uint32(~mask & 0xFFFFFFFF) | x << np.uint32(
        i % per * bits
    )


def check(name: str, a: Layout, b: Layout, c: Layout, types: tuple[str, str] | None = None) -> str:
    """Emit the product of tiles of these layouts and compare it with NumPy's; gives the text.

    `types` are those of the instruction's operands, which a swap exchanges.
    """
    swapped = name.endswith(".swap")
    atom = TARGET.atom(name.removesuffix(".swap"))
    assert atom is not None
    inner = tuple(known(n) for n in types or atom.types[0][:2])
    dtypes = (*(inner[::-1] if swapped else inner), known(atom.types[0][2]))
    tiles = [Tile(n, d, x) for n, d, x in zip("abc", dtypes, (a, b, c), strict=True)]
    rng = np.random.default_rng(prod(a.shape))
    x, y, start = (
        rng.integers(-4 if d.is_signed else 0, 5, t.shape)
        for t, d in zip((a, b, c), dtypes, strict=True)
    )
    out = Writer()
    for tile in tiles:
        out.name(tile.name)
    emit_product(
        out,
        atom,
        *([transposed(tiles[1]), transposed(tiles[0]), transposed(tiles[2])] if swapped else tiles),
    )
    scope = {t.name: lay(t.layout, v, t.dtype) for t, v in zip(tiles, (x, y, start), strict=True)}
    function = name_of(atom, inner[0].name, inner[1].name)
    functions = {
        function: instruction(atom.m, atom.k, *inner),
        "get_bits": get_bits,
        "set_bits": set_bits,
    }
    run(out.text(), scope, functions)
    assert (scope["c"] == lay(c, start + x @ y, dtypes[2])).all(), out.text()
    return out.text()


def spread(axis: int | None, warps: int, rank: int = 2) -> Layout:
    """Warps along an axis, or copies."""
    shape = [1] * rank
    if axis is not None:
        shape[axis] = warps
    return Layout(
        tuple(shape), (Mode(warps, -1 if axis is None else axis, 0 if axis is None else 1),), ()
    )


@pytest.mark.parametrize(("atom", "a", "b"), CASES, ids=lambda x: getattr(x, "name", x))
def test_one_instruction(atom: Any, a: str, b: str) -> None:
    text = check(atom.name, atom.a, atom.b, atom.c, (a, b))
    assert text == f"{name_of(atom, a, b)}(&c[0], &a[0], &b[0]);\n"


@pytest.mark.parametrize("atom", ATOMS, ids=lambda x: x.name)
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("along", ["rows", "columns", "both"])
def test_tiles_over_warps(atom: Any, swap: bool, along: str) -> None:
    way = atom.swapped if swap else atom
    rows = {"rows": 4, "columns": 1, "both": 2}[along]
    columns = 4 // rows

    def warps(row: int | None, column: int | None) -> Layout:
        parts = [(rows, row), (columns, column)]
        shape = [1, 1]
        modes = []
        for count, axis in parts:
            modes.append(Mode(count, -1 if axis is None else axis, 0 if axis is None else 1))
            if axis is not None:
                shape[axis] = count
        return Layout(tuple(shape), tuple(modes), ())

    a = warps(0, None) * local(2, 3) * way.a
    b = warps(None, 1) * local(3, 2) * way.b
    c = warps(0, 1) * local(2, 2) * way.c
    text = check(way.name, a, b, c)
    assert text.count("mma_") == 1, "regular registers are loops"
    assert "part" not in text
    assert "get_bits" not in text


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("warps_along_batch", [False, True])
def test_batches(swap: bool, warps_along_batch: bool) -> None:
    atom = TARGET.atom("mma.m16n8k16")
    way = atom.swapped if swap else atom
    outer = spatial(2, 1, 1) if warps_along_batch else spread(None, 2, 3)
    local_batch = 2

    def batched(layout: Layout, rows: int, columns: int) -> Layout:
        inner = reshape(layout, (1, *layout.shape))
        return outer * local(local_batch, rows, columns) * inner

    check(way.name, batched(way.a, 2, 2), batched(way.b, 2, 3), batched(way.c, 2, 3))


def test_any_order_of_k_that_both_operands_have() -> None:
    """A lane holds eight neighbours of k, as one 16-byte load gives them."""
    a = parse_layout("local(2, 1).spatial(8, 4).local(1, 8)")
    b = parse_layout("column_spatial(4, 8).local(8, 1)")
    c = parse_layout("local(2, 1).spatial(8, 4).local(1, 2)")
    check("mma.m16n8k16", a, b, c)


def test_any_order_of_rows_that_the_accumulator_has() -> None:
    atom = TARGET.atom("mma.m16n8k16")
    # Lane g has rows 2g and 2g + 1 in the two halves of the instruction.
    a = parse_layout("column_local(1, 2).spatial(8, 1).local(2, 1).spatial(1, 4).local(1, 2)")
    c = parse_layout("spatial(8, 1).local(2, 1).spatial(1, 4).local(1, 2)")
    check("mma.m16n8k16", a, atom.b, c)


def test_registers_of_one_operand_are_gathered() -> None:
    atom = TARGET.atom("mma.m16n8k16")
    a = local(2, 2) * atom.a
    b = parse_layout("column_spatial(4, 8).local(8, 1)")  # neighbours that a does not have
    with pytest.raises(Mismatch, match="same k"):
        check("mma.m16n8k16", a, b, local(2, 1) * atom.c)
    # The same k in a lane, paired otherwise: registers hold k and k + 8.
    b = Layout((16, 8), (Mode(8, 1, 1), Mode(4, 0, 2)), (Mode(2, 0, 1), Mode(2, 0, 8)))
    text = check("mma.m16n8k16", local(2, 1) * atom.a, b, local(2, 1) * atom.c)
    assert "get_bits<16>(b" in text


def test_scattered_accumulators_are_collected() -> None:
    atom = TARGET.atom("mma.m16n8k16")
    c = Layout(
        (16, 16), (Mode(8, 0, 1), Mode(4, 1, 2)), (Mode(2, 1, 1), Mode(2, 1, 8), Mode(2, 0, 8))
    )
    text = check("mma.m16n8k16", atom.a, local(1, 2) * atom.b, c)
    assert "c_part" in text


@pytest.mark.parametrize(
    ("a", "b", "c", "problem"),
    [
        ("spatial(16, 2).local(1, 8)", None, None, "rows of the left operand"),
        (None, "spatial(16, 2).local(1, 4)", None, "right operand"),
        (None, None, "spatial(16, 2).local(1, 4)", "accumulator"),
        (
            "spatial(8, 4).local(2, 4)",
            None,
            "spatial(8, 1).local(2, 1).spatial(1, 4).local(1, 2)",
            "same k",
        ),
    ],
)
def test_what_does_not_fit_is_named(
    a: str | None, b: str | None, c: str | None, problem: str
) -> None:
    atom = TARGET.atom("mma.m16n8k16")
    layouts = [
        own if text is None else parse_layout(text)
        for text, own in ((a, atom.a), (b, atom.b), (c, atom.c))
    ]
    with pytest.raises(Mismatch, match=problem):
        check("mma.m16n8k16", *layouts)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_every_instruction_assembles(nvrtc: None, architecture: str) -> None:
    texts, lines = [], []
    for atom, a, b, c in ((x, *t) for x in ATOMS for t in x.types):
        if architecture == "sm_80" and a.startswith("f8"):
            continue
        name = name_of(atom, a, b)
        texts.append(mma.functions()[name])
        dtypes = [known(n) for n in (c, a, b)]
        ctype = ["unsigned" if is_packed(d) else element_type(d) for d in dtypes]
        lines.append(f"{name}(({ctype[0]}*)c, (const {ctype[1]}*)a, (const {ctype[2]}*)b);")
    source = (
        "#define DEVICE static __device__ __forceinline__\n" + "\n".join(texts)
        + '\nextern "C" __global__ void k(void* c, const void* a, const void* b) {\n'
        + "\n".join(lines) + "\n}\n"
    )  # fmt: skip
    assert compile_cubin(source, architecture).cubin
