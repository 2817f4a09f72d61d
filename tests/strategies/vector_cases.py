"""Functions of Vector IR with the instructions that random ones have not: `f(a, b)`, of a module."""

from __future__ import annotations

import numpy as np
from dslc.compiler.dtypes import BF16, F32, encode
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.vector.atoms import DotAtom
from dslc.compiler.vector.building import Builder
from dslc.compiler.vector.function import Module
from dslc.compiler.vector.text import parse
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.verifying import verify

from strategies.native_vector import aligned

SIZE = 4096
BODIES = {
    "masks": """
        %m = lt i64x7(0, 1, 2, 3, 4, 5, 6), i64x7(5) : boolx7
        %x = load %a[3], mask=%m, fill=i16x7(-1) : i16x7
        store %b[1], %x, mask=%m
        %one = load %a[0], mask=bool(False), fill=f32(2.5) : f32
        store %b[32], %one
        %two = load %a[0], mask=bool(True) : i32
        store %b[36], %two, mask=bool(True)
        store %b[40], %two, mask=bool(False)
    """,
    "bools": """
        %m = load %a[0] : boolx16
        %k = not %m : boolx16
        store %b[0], %k
        %s = load %a[5] : bool
        store %b[16], %s
        %any = reduce or, %m : bool
        %all = reduce and, %m : bool
        %odd = reduce xor, %m : bool
        store %b[17], %any
        store %b[18], %all
        store %b[19], %odd
        %c = convert %m : f32x16
        store %b[64], %c
    """,
    "orders": "".join(
        f"""
        %x{n} = load %a[{64 * n}] : {d}x8
        %y{n} = load %a[{64 * n + 512}] : {d}x8
        %lt{n} = lt %x{n}, %y{n} : boolx8
        store %b[{16 * n}], %lt{n}
        %ge{n} = ge %x{n}, %y{n} : boolx8
        store %b[{16 * n + 8}], %ge{n}
        """
        for n, d in enumerate(("u8", "i8", "u16", "i32", "u32", "u64"))
    ),
    "apart": """
        %x = load_strided %a[300], -20 : i32x9
        store_strided %b[400], -12, %x
        %i = load %a[0] : u8x16
        %j = and %i, u8x16(31) : u8x16
        %y = gather %a[4], %j, scale=12 : u16x16
        store %b[512], %y
        %back = gather %a[64], i8x4(-1, 3, -16, 0), scale=4 : i32x4
        store %b[560], %back
        %m = lt %j, u8x16(16) : boolx16
        %k = xor %j, u8x16(3) : u8x16
        scatter %b[600], %k, %y, mask=%m, scale=6
    """,
    "packed": "".join(
        f"""
        %x{n}.{lanes} = load_packed %a[{n}] : i{n}x{lanes}
        store_packed %b[{512 * n - 512 + lanes}], %x{n}.{lanes}
        %y{n}.{lanes} = load_packed %a[{n}] : u{n}x{lanes}
        store %b[{512 * n - 256 + lanes}], %y{n}.{lanes}
        """
        for n in range(1, 8)
        for lanes in (8, 32, 128)
    ),
    "bytes as codes": "".join(
        f"""
        %v{n}.{lanes} = load %a[{n}] : u8x{n * lanes // 8}
        %x{n}.{lanes} = bitcast %v{n}.{lanes} : i{n}x{lanes}
        store %b[{512 * n - 512 + lanes}], %x{n}.{lanes}
        %y{n}.{lanes} = bitcast %v{n}.{lanes} : u{n}x{lanes}
        store %b[{512 * n - 256 + lanes}], %y{n}.{lanes}
        """
        for n in range(1, 8)
        for lanes in (8, 16, 64)
    ),
    "atomics": """
        store %b[0], i64x4(5, -5, 7, 9)
        store %b[64], f32x4(1.5, -2.5, 4.0, 0.0)
        %a0 = atomic_update add, %b[0], 3 : index
        %a1 = atomic_update min, %b[8], 4, order=acq_rel : index
        %a2 = atomic_update max, %b[16], u64(18446744073709551615), order=release : u64
        %a3 = atomic_update xor, %b[24], u32(255), order=acquire : u32
        %a4 = atomic_update exchange, %b[28], i32(-3) : i32
        %a5 = atomic_update add, %b[64], f32(0.25) : f32
        %a6 = atomic_update max, %b[68], f32(nan) : f32
        %a7 = atomic_update min, %b[72], f32(-1.0) : f32
        %a8 = atomic_update add, %b[76], f16(1.5) : f16
        %a9 = atomic_update max, %b[78], bf16(1.5) : bf16
        %c0 = compare_exchange %b[28], i32(-3), i32(12), order=acq_rel : i32
        %c1 = compare_exchange %b[28], i32(-3), i32(13) : i32
        %l = atomic_load %b[0], order=acquire : index
        atomic_store %b[32], %l, order=release
        store %b[128], %a0
        store %b[136], %a1
        store %b[144], %a2
        store %b[152], %a3
        store %b[156], %a4
        store %b[160], %a5
        store %b[164], %a6
        store %b[168], %a7
        store %b[172], %a8
        store %b[176], %c0
        store %b[180], %c1
    """,
    "memory": """
        %own = allocate size=256 : ptr
        %x = load %a[0], align=64 : i8x64
        store %own[64], %x, align=64
        %t = table i16x4(1, -2, 3, -4) : ptr
        %i = load %a[0] : u8
        %j = mod %i, u8(4) : u8
        %k = convert %j : index
        %at = mul %k, 2 : index
        %y = load %t[%at] : i16
        store %b[0], %y
        %z = load %own[65] : i8x32
        store %b[64], %z, align=64, nontemporal=True
        fence
        prefetch %a[1000000], write=True, locality=0
        pause
        %p = select bool(True), %a, %b : ptr
        store %own[0], %p
        %q = load %own[0] : ptr
        %r = advance %q[16] : ptr
        %w = load %r[-8], nontemporal=True : i32
        store %b[128], %w
    """,
    "nearest": """
        %x = load %a[0] : i8x16
        %f = convert %x : f32x16
        %h = mul %f, f32x16(0.5) : f32x16
        %n = nearest %h : i32x16
        store %b[0], %n
        %m = nearest %h : i8x16
        store %b[64], %m
        %d = convert %h : f64x16
        %o = nearest %d : i64x16
        store %b[128], %o
        %e = extract %d, 3 : f64
        %g = nearest %e : i32
        store %b[256], %g
        %u = convert %h, in_range=True : i16x16
        store %b[320], %u
        %v = extract %h, 5 : f32
        %s = nearest %v : i32
        store %b[360], %s
    """,
    "permutations": "".join(
        f"""
        %t{n} = load %a[{n}] : {table}
        %i{n} = load %a[{n + 9}] : {index}
        %p{n} = permute %t{n}, %i{n} : {table.split("x")[0]}x{index.split("x")[1]}
        store %b[{64 * n}], %p{n}
        """
        for n, (table, index) in enumerate(
            [
                ("u8x64", "u8x64"), ("u8x16", "u8x16"), ("i8x16", "i16x5"), ("u16x32", "u8x32"),
                ("f32x16", "i32x16"), ("f32x8", "u8x16"), ("f64x8", "i64x3"), ("i32x4", "u8x7"),
                ("f16x16", "u8x16"), ("bf16x4", "u8x24"), ("f32x2", "u8x4"), ("u8x32", "u8x64"),
            ]
        )
    ),
}  # fmt: skip


CONTROL = """
local function inner(%b: ptr, %n: index) {
  for %i in range(0, 10, 1) unroll 3 {
    %stop = eq %i, %n : bool
    if %stop {
      %status = convert %i : i32
      return %status
    }
    %at = mul %i, 8 : index
    store %b[%at], %i
  }
}

function f(%a: ptr align 64, %b: ptr align 64) {
  %s = call inner, %b, 7 : i32
  store %b[256], %s
  %r = call inner, %b, -1 : i32
  store %b[260], %r
  %x: index, %y: f32x3 = while carry(%i: index = 1, %v: f32x3 = f32x3(1.0, 2.0, 3.0)) {
    %next = mul %i, 3 : index
    %more = lt %next, 1000 : bool
    yield %more
  } do {
    %w = mul %v, f32x3(0.5) : f32x3
    yield %next, %w
  }
  store %b[264], %x
  store %b[272], %y
  %none: f32 = for %k in range(5, 0, 1) carry(%z: f32 = f32(7.0)) {
    yield f32(8.0)
  }
  store %b[300], %none
  %both = lt %x, 0 : bool
  if %both {
    return i32(1)
  } else {
    return i32(2)
  }
}
"""


def body_of(name: str) -> Module:
    """The function with the body of that name."""
    module = parse(f"function f(%a: ptr align 64, %b: ptr align 64) {{{BODIES[name]}\n}}\n")
    verify(module)
    return module


def source() -> Array:
    found = aligned(SIZE)
    found[:] = np.random.default_rng(3).integers(0, 256, SIZE)
    return found


def dot_of(atom: DotAtom, lanes: int) -> tuple[Module, Array]:
    """A function of an atom with so many lanes of sums, and numbers for it."""
    b = Builder("f")
    a, out = b.pointer("a", align=64), b.pointer("b", align=64)
    acc_lanes, a_lanes, b_lanes = atom.lanes(lanes // (atom.m * atom.n))
    x = b.load(a, 0, VectorType(atom.a, a_lanes))
    y = b.load(a, 1024, VectorType(atom.b, b_lanes))
    acc = b.load(a, 2048, VectorType(atom.acc, acc_lanes)) if atom.accumulates else None
    b.store(out, 0, b.dot(atom.name, x, y, acc))
    numbers, given = np.random.default_rng(lanes), aligned(SIZE)
    given[:] = numbers.integers(0, 256, SIZE)
    if atom.acc == F32:
        halves = encode(numbers.standard_normal(1024).astype(np.float32), BF16)
        given[:2048] = halves.view(np.uint8)
        given[2048:] = numbers.standard_normal(512).astype(np.float32).view(np.uint8)
    return Module((b.function(),)), given
