"""print and assert in a kernel, by the device's printf."""

from __future__ import annotations

from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.indexing import add, chunks, loops
from dslc.codegen.c_family.memory.accesses import first_copy
from dslc.codegen.c_family.registers import Tile
from dslc.codegen.c_family.scalars import unsupported
from dslc.codegen.quoting import c_format, comment_lines
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk


def assertion(e: Emission, s: ins.Assert) -> None:
    """Stop the kernel, with a text where that may be printed.

    Where a kernel calls a function, `printf` too, ptxas has every asynchronous product wait for the one
    before (its remark C7510).
    """
    with e.out.block(f"if (!({e.scalar(s.condition)}))"):
        has_async = any(isinstance(x, ins.Dot) and x.is_async for x in walk(e.kernel.body))
        if has_async or not e.prints:
            e.out.line(comment_lines(f"assertion: {ascii(s.text)[1:-1]}").rstrip("\n"))
            e.out.line("__trap();")
            return
        e.out.line(f'if (tid == 0) printf("assertion failed: {c_format(s.text)}\\n");')
        e.out.line("__trap();")


def show(e: Emission, s: ins.Print) -> None:
    """Print scalars, and each element of tiles with its index. DSL0590 where the machine cannot."""
    if not e.prints:
        hint = "run the kernel with --target interp, which prints"
        raise unsupported("print, which needs the machine's device libraries", hint)
    text = c_format(s.text)
    scalars = [a for a in s.args if not isinstance(a, Value)]
    formats = " ".join(_format(a.dtype) for a in scalars)
    values = "".join(f", {_printed(e.scalar(a), a.dtype)}" for a in scalars)
    e.out.line(f'if (tid == 0) printf("{text} {formats}\\n"{values});')
    for value in (a for a in s.args if isinstance(a, Value)):
        _show_tile(e, text, e.tile(value))


def _show_tile(e: Emission, text: str, tile: Tile) -> None:
    parts = chunks(tile.layout, 1, e.out)
    rank = tile.layout.rank
    with loops(e.out, parts):
        at = [add(e.bases.base(tile.layout, a), parts.offset(a)) or "0" for a in range(rank)]
        index = ", ".join(["%d"] * rank)
        values = "".join(f", {a}" for a in at)
        shown = _printed(tile.read(parts.element), tile.dtype)
        line = f'printf("{text} [{index}] {_format(tile.dtype)}\\n"{values}, {shown});'
        once = first_copy(tile.layout)
        e.out.line(f"if ({once}) {line}" if once else line)


def _format(dtype: DType) -> str:
    return "%g" if dtype.is_float else "%lld"


def _printed(text: str, dtype: DType) -> str:
    return f"(double)({text})" if dtype.is_float else f"(long long)({text})"


EMITTERS: dict[type, Emitter] = {ins.Assert: assertion, ins.Print: show}
