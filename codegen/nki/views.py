"""Views in a program's entry: access patterns of a tensor in HBM, or copies of what has gaps.

    halves_1 = halves.ap(pattern=[[512, 256], [1, 512]], offset=131072)
    scale_turns(halves_1, y)

A kernel takes its tensors as dense. Elements that lie apart, such as some columns, are copied before a
call and, where it writes them, back after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from dslc.codegen.nki.arithmetic.scalars import text
from dslc.codegen.nki.dtypes import element
from dslc.codegen.nki.outputs import written_whole
from dslc.codegen.nki.writer import Writer
from dslc.compiler.ir import Call, Memory, Program, Role, View
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.strides import lies_densely, strides_of

Scalars = Mapping[ex.Var, str]


def tensor(memory: Memory, scalars: Scalars, buffer: str) -> str:
    """A new tensor of a memory's shape."""
    shape = ", ".join(text(n, scalars) for n in memory.shape)
    if len(memory.shape) == 1:
        shape += ","
    return f"nl.ndarray(({shape}), dtype={element(memory.dtype)}, buffer={buffer})"


def pattern(view: View, base: str, scalars: Scalars) -> str:
    """The elements of a view, of the tensor of that name."""
    memory = view.memory
    axes = zip(strides_of(memory), memory.shape, strict=True)
    pairs = ", ".join(f"[{text(s, scalars)}, {text(n, scalars)}]" for s, n in axes)
    return f"{base}.ap(pattern=[{pairs}], offset={text(view.offset, scalars)})"


@contextmanager
def viewed(
    out: Writer, program: Program, call: Call, names: dict[Memory, str], scalars: Scalars
) -> Iterator[None]:
    """Give a call's views their names, and make the copies around it."""
    whole = written_whole(call.kernel)
    copied: list[tuple[str, str]] = []
    pairs = list(zip(call.kernel.params, call.args, strict=True))
    for view in program.views:
        params = [p for p, a in pairs if a is view.memory and isinstance(p, Memory)]
        if not params:
            continue
        elements = pattern(view, names[view.base], scalars)
        names[view.memory] = name = out.name(view.memory.name)
        if lies_densely(view.memory):
            out.line(f"{name} = {elements}")
            continue
        out.line(f"{name} = {tensor(view.memory, scalars, 'nl.hbm')}")
        if any(p.role is not Role.OUT or p not in whole for p in params):
            out.line(f"nisa.dma_copy(dst={name}, src={elements})")
        if any(p.role is not Role.IN for p in params):
            copied.append((elements, name))
    yield
    for elements, name in copied:
        out.line(f"nisa.dma_copy(dst={elements}, src={name})")
