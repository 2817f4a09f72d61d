"""The explicit level: memories by hand, asynchronous copies, synchronisation; and printing."""

from __future__ import annotations

from dslc.checker.arithmetic import as_dtype, as_expr
from dslc.checker.calls import Argument, function
from dslc.checker.context import Context
from dslc.checker.failure import fail
from dslc.checker.items import Item, describe, is_scalar
from dslc.checker.subscript import Access, check_readable, check_updatable, check_writable
from dslc.compiler.ir import Memory, Place, Role, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins


def _allocate(
    c: Context,
    dtype: Argument,
    shape: Argument | None,
    layout: Argument | None,
    place: Place | None,
) -> Memory:
    wanted = layout.layout() if layout else None
    if shape is None and wanted is None:
        fail("DSL0205", "a shape (or a layout) is needed", dtype.loc)
    sizes = shape.shape() if shape else wanted.shape if wanted else ()
    if wanted is not None and wanted.shape != sizes:
        fail("DSL0222", f"the layout has shape {list(wanted.shape)}, not {list(sizes)}", dtype.loc)
    if wanted is not None and wanted.threads != 1:
        fail(
            "DSL0222",
            f"a memory's layout has one thread, this one {wanted.threads}",
            dtype.loc,
            hint="build it of local(...) alone",
        )
    memory = Memory(
        c.emit.hint or "buffer",
        dtype.dtype(),
        tuple(map(ex.index, sizes)),
        Role.BUFFER,
        place,
        layout=wanted,
        loc=c.emit.loc,
    )
    c.emit.emit(ins.Alloc(memory, loc=c.emit.loc))
    return memory


@function
def buffer(
    c: Context, dtype: Argument, shape: Argument | None = None, layout: Argument | None = None
) -> Item:
    """On-chip storage private to a parallel turn; the compiler chooses its place."""
    return _allocate(c, dtype, shape, layout, None)


@function
def shared(
    c: Context, dtype: Argument, shape: Argument | None = None, layout: Argument | None = None
) -> Item:
    """Shared memory of a parallel turn."""
    return _allocate(c, dtype, shape, layout, Place.SHARED)


@function
def register(
    c: Context,
    dtype: Argument,
    shape: Argument | None = None,
    layout: Argument | None = None,
    init: Argument | None = None,
) -> Item:
    """A register tile with its layout; without `init` its elements are undefined."""
    wanted = layout.layout() if layout else None
    if shape is None and wanted is None:
        fail("DSL0205", "a layout (or a shape) is needed", dtype.loc)
    sizes = shape.shape() if shape else wanted.shape if wanted else ()
    if wanted is not None and wanted.shape != sizes:
        fail("DSL0222", f"the layout has shape {list(wanted.shape)}, not {list(sizes)}", dtype.loc)
    out = c.emit.value(dtype.dtype(), sizes, wanted)
    if init is None:
        c.emit.emit(ins.Undefined(out, loc=c.emit.loc))
    else:
        value = as_dtype(init.item(), out.type.dtype, init.loc)
        c.emit.emit(ins.Full(out, value, loc=c.emit.loc))
    return out


@function
def copy_async(c: Context, dst: Argument, src: Argument) -> Item:
    """Start a copy of one region to another."""
    to, start = dst.region(), src.region()
    check_writable(to.region.memory, dst.loc)
    check_readable(start.region.memory, src.loc)
    if to.region.memory.dtype != start.region.memory.dtype:
        fail(
            "DSL0202",
            f"a copy of {start.region.memory.dtype} to {to.region.memory.dtype}",
            src.loc,
            hint="copies do not convert: load, cast and store",
        )
    if _squeezed(to) != _squeezed(start):
        fail("DSL0223", f"a copy of {list(start.shape)} to {list(to.shape)}", src.loc)
    c.emit.emit(ins.CopyAsync(to.region, start.region, loc=c.emit.loc))
    return None


def _squeezed(found: Access) -> tuple[int, ...]:
    return tuple(s for s in found.region.shape if s != 1)


@function
def commit(c: Context) -> Item:
    """Close a group of asynchronous copies."""
    c.emit.emit(ins.CommitGroup(loc=c.emit.loc))
    return None


@function
def wait(c: Context, n: Argument | None = None) -> Item:
    """Wait until at most n groups are under way (none by default)."""
    pending = n.integer() if n else 0
    if pending < 0:
        fail("DSL0224", f"n is at least 0, not {pending}", n.loc if n else None)
    c.emit.emit(ins.WaitGroup(pending, loc=c.emit.loc))
    return None


@function
def sync(c: Context) -> Item:
    """A barrier of all threads of the turn."""
    c.emit.emit(ins.Sync(loc=c.emit.loc))
    return None


def _semaphore(region: Argument, value: Argument) -> tuple[Access, ex.Expr]:
    element = region.region()
    memory = element.region.memory
    check_updatable(memory, region.loc)
    if not memory.dtype.is_integer or any(s != 1 for s in element.region.shape):
        fail("DSL0223", "a semaphore is one integer of a tensor", region.loc, hint="semaphore[i]")
    return element, as_dtype(value.item(), memory.dtype, value.loc)


@function
def semaphore_wait(c: Context, region: Argument, value: Argument) -> Item:
    """Wait until an integer in global memory has a value."""
    element, wanted = _semaphore(region, value)
    c.emit.emit(ins.SemaphoreWait(element.region, wanted, loc=c.emit.loc))
    return None


@function
def semaphore_release(c: Context, region: Argument, value: Argument) -> Item:
    """Publish earlier writes and set an integer in global memory."""
    element, wanted = _semaphore(region, value)
    c.emit.emit(ins.SemaphoreRelease(element.region, wanted, loc=c.emit.loc))
    return None


@function
def print_(c: Context, *args: Argument) -> Item:
    """Print a text and values, once a turn."""
    text = ""
    values: list[Value | ex.Expr] = []
    for k, argument in enumerate(args):
        item = argument.item()
        if k == 0 and isinstance(item, str):
            text = item
        elif isinstance(item, Value):
            values.append(item)
        elif is_scalar(item):
            values.append(as_expr(item, argument.loc))
        else:
            fail(
                "DSL0227", f"print takes a text and then values, not {describe(item)}", argument.loc
            )
    c.emit.emit(ins.Print(text, tuple(values), loc=c.emit.loc))
    return None
