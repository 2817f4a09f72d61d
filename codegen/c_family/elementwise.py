"""Elementwise instructions and casts: a loop over elements, or over words where pairs are native."""

from __future__ import annotations

from dslc.codegen.c_family import scalars
from dslc.codegen.c_family.ctypes_of import is_packed
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.indexing import add, chunks, loops
from dslc.codegen.c_family.registers import Tile, encode
from dslc.compiler.dtypes import Kind
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Const

_PAIRS = frozenset({"add", "sub", "mul", "min", "max"})
_SIGNS = {"neg": "{} ^ 0x80008000u", "abs": "{} & 0x7fff7fffu"}
_PAIRED = ("f16", "bf16")
_ZERO = ("0", "0.0", "False")  # whose codes are zero bits, but for e8m0, which has no zero


def full(e: Emission, s: ins.Full) -> None:
    """One scalar in every element."""
    is_zero = isinstance(s.value, Const) and str(s.value.value) in _ZERO
    if is_zero and s.out.type.dtype.kind is not Kind.SCALE:
        e.new(s.out, zero=True)
        return
    tile = e.new(s.out)
    value = e.scalar(s.value)
    name = e.temporary(tile, value)
    with e.out.loop("i", tile.count):
        e.out.line(tile.write("i", name))


def undefined(e: Emission, s: ins.Undefined) -> None:
    """Registers that something will write."""
    e.new(s.out)


def arange(e: Emission, s: ins.Arange) -> None:
    """The index itself."""
    tile = e.new(s.out)
    parts = chunks(tile.layout, 1, e.out)
    base = e.bases.base(tile.layout, 0)
    with loops(e.out, parts):
        e.out.line(tile.write(parts.element, add(base, parts.offset(0))))


def unary(e: Emission, s: ins.Unary) -> None:
    """out = op(x)."""
    x = e.tile(s.x)
    if s.op in _SIGNS and x.dtype.name in _PAIRED:
        tile = e.new(s.out, zero=False)
        with e.out.loop("i", tile.words):
            e.out.line(f"{tile.name}[i] = {_SIGNS[s.op].format(f'{x.name}[i]')};")
        return
    tile = e.new(s.out)
    with e.out.loop("i", tile.count):
        e.out.line(tile.write("i", scalars.unary(s.op, x.read("i"), x.dtype)))


def binary(e: Emission, s: ins.Binary) -> None:
    """out = op(x, y)."""
    deferred = e.deferred.get(s.x)
    if s.op == "sub" and deferred is not None and deferred.minus is not None:
        deferred.minus(e, s, deferred)
        return
    x, y = e.tile(s.x), e.tile(s.y)
    if s.op in _PAIRS and x.dtype.name in _PAIRED:
        tile = e.new(s.out, zero=False)
        with e.out.loop("i", tile.words):
            call = f"{s.op}_{x.dtype.name}x2({x.name}[i], {y.name}[i])"
            e.out.line(f"{tile.name}[i] = {call};")
        return
    tile = e.new(s.out)
    with e.out.loop("i", tile.count):
        text = scalars.binary(s.op, x.read("i"), y.read("i"), x.dtype)
        e.out.line(tile.write("i", text))


def fma(e: Emission, s: ins.Fma) -> None:
    """out = x * y + z."""
    x, y, z = e.tile(s.x), e.tile(s.y), e.tile(s.z)
    tile = e.new(s.out)
    if x.dtype.name in _PAIRED:
        with e.out.loop("i", tile.words):
            args = ", ".join(f"{t.name}[i]" for t in (x, y, z))
            e.out.line(f"{tile.name}[i] = fma_{x.dtype.name}x2({args});")
        return
    function = "fma" if x.dtype.bits == 64 else "fmaf"
    with e.out.loop("i", tile.count):
        read = [t.read("i") for t in (x, y, z)]
        text = f"{function}({', '.join(read)})"
        if not x.dtype.is_float:
            product = scalars.binary("mul", read[0], read[1], x.dtype)
            text = scalars.binary("add", product, read[2], x.dtype)
        e.out.line(tile.write("i", text))


def where(e: Emission, s: ins.Where) -> None:
    """out = x where condition, else y."""
    c, x, y = e.tile(s.condition), e.tile(s.x), e.tile(s.y)
    if x.dtype.bits == 16 and x.count % 2 == 0:
        tile = e.new(s.out, zero=False)
        with e.out.loop("i", tile.words):
            both = f"{c.name}[2 * i], {c.name}[2 * i + 1], {x.name}[i], {y.name}[i]"
            e.out.line(f"{tile.name}[i] = select_halves({both});")
        return
    tile = e.new(s.out)
    with e.out.loop("i", tile.count):
        e.out.line(tile.write("i", f"{c.read('i')} ? {x.read('i')} : {y.read('i')}"))


def cast(e: Emission, s: ins.Cast) -> None:
    """Another dtype."""
    x = e.tile(s.x)
    tile = e.new(s.out)
    if tile.dtype.name in _PAIRED and not s.saturate and tile.count % 2 == 0:
        low, high = (_converted(x, tile, f"2 * i{plus}") for plus in ("", " + 1"))
        with e.out.loop("i", tile.words):
            e.out.line(f"{tile.name}[i] = pack_{tile.dtype.name}({low}, {high});")
        return
    if tile.dtype.bits == 8 and is_packed(tile.dtype) and tile.count % 4 == 0:
        convert = _saturated if s.saturate else _converted
        codes = [encode(convert(x, tile, f"4 * i + {k}"), tile.dtype) for k in range(4)]
        with e.out.loop("i", tile.words):
            e.out.line(f"{tile.name}[i] = join_bytes({', '.join(codes)});")
        return
    with e.out.loop("i", tile.count):
        text = _converted(x, tile, "i")
        if s.saturate:
            text = _saturated(x, tile, "i")
        e.out.line(tile.write("i", text))


def _converted(x: Tile, to: Tile, i: str) -> str:
    return scalars.convert(x.read(i), x.dtype, to.dtype)


def _saturated(x: Tile, to: Tile, i: str) -> str:
    return scalars.convert(x.read(i), x.dtype, to.dtype, saturate=True)


def view(e: Emission, s: ins.View) -> None:
    """The same registers under another name; what is not packed moves by its bits."""
    dtype = s.out.type.dtype
    if is_packed(s.x.type.dtype) and is_packed(dtype):
        e.defer(s.out, e.bits_of(s.x).viewed(dtype))
        return
    x = e.tile(s.x)
    tile = e.new(s.out)
    with e.out.loop("i", tile.words):
        source = f"{x.name}[i]"
        if x.dtype.name in ("f32", "tf32"):
            source = f"bits_f32({source})"
        if tile.dtype.name in ("f32", "tf32"):
            source = f"as_f32({source})"
        e.out.line(f"{tile.name}[i] = {source};")


EMITTERS: dict[type, Emitter] = {
    ins.Full: full,
    ins.Undefined: undefined,
    ins.Arange: arange,
    ins.Unary: unary,
    ins.Binary: binary,
    ins.Fma: fma,
    ins.Where: where,
    ins.View: view,
}
