"""The file of a kernel or program: a function for each kernel, and the entry that nki compiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from dslc.codegen.emitters import table
from dslc.codegen.nki.arithmetic import casts, elementwise, functions, fused, reductions
from dslc.codegen.nki.arithmetic.eight_bits import paired
from dslc.codegen.nki.arithmetic.scalar_functions import NAMES, definitions
from dslc.codegen.nki.arithmetic.scalars import text
from dslc.codegen.nki.control import emit_control
from dslc.codegen.nki.emission import Emission
from dslc.codegen.nki.movement import accesses, gathers, packed, shaping, stacks, updates
from dslc.codegen.nki.movement.engine_sharing import Shares
from dslc.codegen.nki.movement.joining import homes
from dslc.codegen.nki.outputs import apart, written_whole
from dslc.codegen.nki.products import emit_products
from dslc.codegen.nki.views import tensor, viewed
from dslc.codegen.nki.writer import RESERVED, Writer
from dslc.codegen.quoting import ascii_name, docstring, python_name
from dslc.codegen.row_codes import with_row_codes
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Call, Kernel, Memory, Program, Role, TileProgram, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import largest
from dslc.compiler.ir.arithmetic.strides import strides_of
from dslc.compiler.ir.rewrite import kernels
from dslc.compiler.ir.traverse import operands, tile_of, walk
from dslc.compiler.passes.trainium.capacity import usable, widest_column_block
from dslc.compiler.passes.trainium.residents import residents
from dslc.compiler.passes.trainium.unroll_budget import machine_counters
from dslc.compiler.targets import Target
from dslc.compiler.targets.nki import engines_of

EMITTERS = table(
    elementwise.EMITTERS, fused.EMITTERS, functions.EMITTERS, casts.EMITTERS, reductions.EMITTERS,
    shaping.EMITTERS, accesses.EMITTERS, emit_products.EMITTERS, emit_control.EMITTERS, packed.EMITTERS,
    gathers.EMITTERS, updates.EMITTERS,
)  # fmt: skip

# What a file names at its top.
_WORDS = ("nki", "nl", "nisa", "math", "clipped", "while_loop", "INFINITY", "NAN", *NAMES)
_HEAD = {
    "math": "import math\n",
    "INFINITY": 'INFINITY = float("inf")\n',
    "NAN": 'NAN = float("nan")\n',
}
_WHILE_LOOP = """
try:
    from nki.language import while_loop
except ImportError:  # nki 0.6
    from nki.experimental import while_loop
"""
_CLIPPED = '''

def clipped(start, size, step, extent):
    """The first element of a slice that lies within its axis, and the end of them."""
    return max(0, -(start // step)), max(0, min(size, -((start - extent) // step)))
'''


@dataclass(frozen=True, slots=True)
class Entry:
    """How the entry is called: its arguments in order by kind and name, and what it gives back.

    Behind the results it gives a row of marks for each list of `checks`, the texts of assertions: 1 for
    one that did not hold. `codes` are packed rows that it takes as codes, one a byte.
    """

    name: str
    arguments: tuple[tuple[str, str], ...]
    results: tuple[str, ...]
    checks: tuple[tuple[str, ...], ...] = ()
    codes: tuple[str, ...] = ()


def emit(program: TileProgram, target: Target) -> tuple[str, Entry]:
    """The text of the file, and its entry."""
    program, codes = with_row_codes(program, packed.lies_in_rows)
    if isinstance(program, Kernel):
        program = apart(program)
    needs: set[str] = set()
    functions_of: dict[Kernel, str] = {}
    checks_of: dict[Kernel, tuple[str, ...]] = {}
    texts: list[str] = []
    entry_name = python_name(ascii_name(program.name), {*RESERVED, *_WORDS})
    taken: set[str] = {entry_name}
    for kernel in kernels(program):
        name = f"{ascii_name(kernel.name)}_turns"
        while name in taken:
            name += "_"
        taken.add(name)
        functions_of[kernel] = name
        text, checks_of[kernel] = _function(kernel, name, target, needs)
        texts.append(text)
    entry_text, entry = _entry(program, entry_name, functions_of, checks_of)
    entry = replace(entry, codes=codes)
    doc = (program.doc or "").strip() or program.name
    head = [docstring(doc.splitlines()[0]) + "\n"]
    head += [_HEAD["math"] + "\n"] if "math" in needs else []
    head.append("import nki\nimport nki.isa as nisa\nimport nki.language as nl\n")
    head += [_WHILE_LOOP] if "while_loop" in needs else []
    named = [_HEAD[w] for w in ("INFINITY", "NAN") if w in needs]
    if named:
        head.append("\n" + "".join(named))
    if "clipped" in needs:
        head.append(_CLIPPED)
    head.append(definitions(needs))
    return "".join(head) + "".join(texts) + entry_text, entry


def _uses(kernel: Kernel) -> Counter[Value]:
    """How many readers each tile has."""
    readers: Counter[Value] = Counter()
    for stmt in walk(kernel.body):
        readers.update(operands(stmt))
    return readers


def _function(
    kernel: Kernel, name: str, target: Target, needs: set[str]
) -> tuple[str, tuple[str, ...]]:
    """The text of a kernel's turns, and its assertions that the machine checks."""
    out = Writer(taken=(name, *_WORDS))
    engines = engines_of(target)
    shares = Shares.of(kernel, engines)
    e = Emission(kernel, engines, EMITTERS, out, _uses(kernel), shares, needs=needs)
    given = []
    for param in kernel.params:
        if isinstance(param, Memory):
            e.memories[param] = out.name(_own_name(param, e.memories))
            given.append(e.memories[param])
        else:
            given.append(e.declare(param))
    for dim in kernel.dims:
        given.append(e.declare(dim, not_negative=True))
    e.failed, marks = out.name("failed"), out.name("marks")
    for workspace in kernel.workspaces:
        accesses.scratch(e, workspace)
    _stay(e, kernel)
    e.homes = homes(kernel.body, e.uses, e.resident)
    _round_products(e, kernel)
    dots = [s for s in walk(kernel.body) if isinstance(s, ins.Dot) and s.out.type.rank == 2]
    by_dots = Counter(v for s in dots for v in (s.a, s.b) if v.type.dtype.is_float)
    e.paired = paired(kernel, engines)
    e.transfers = partial(stacks.transfers, e)
    e.multiplied |= {v for v, n in by_dots.items() if e.uses[v] == n}
    emit_control.turns(e, kernel.grid, kernel.body)
    head = docstring(kernel.doc, "    ") if kernel.doc else ""
    if e.checks:
        given.append(marks)
        head += (
            f"    {e.failed} = nl.ndarray((1, {len(e.checks)}), dtype=nl.int32, buffer=nl.sbuf)\n"
            f"    nisa.memset(dst={e.failed}, value=0)\n"
        )
        e.call("dma_copy", dst=marks, src=e.failed)
    body = out.text() or "    pass\n"  # a loop of no iterations leaves nothing
    text = f"\n\ndef {name}({', '.join(given)}):\n{head}{body}"
    return text, tuple(c.text for c in e.checks)


def _stay(e: Emission, kernel: Kernel) -> None:
    """Choose the tiles that stay on chip; what nobody else reads is made with them."""
    e.machine |= machine_counters(kernel)
    for kept in residents(kernel, e.engines, e.machine):
        e.resident[kept.value] = kept
    if not any(isinstance(s, ins.Dot) for s in walk(kernel.body)):
        for kept in e.resident.values():
            times = prod(x.iterations or 1 for x in kept.firsts)
            for stmt in kept.chain:
                e.shares.runs[stmt] = max(1, e.shares.runs.get(stmt, 1) // times)
    kept_bytes = sum(kept.bytes for kept in e.resident.values())
    e.column_block = widest_column_block(kernel, usable(e.engines) - kept_bytes)
    for kept in e.resident.values():
        # A link of the chain that somebody else reads stays where it is, and with it what it reads.
        *links, last = kept.chain
        for stmt in reversed(links):
            tile = tile_of(stmt)
            readers = [s for s in walk(kernel.body) if tile in operands(s)]
            if all(r is last or r in e.deferred for r in readers):
                e.deferred.add(stmt)


def _round_products(e: Emission, kernel: Kernel) -> None:
    """Find the products that one cast alone reads."""
    products = {s.out for s in walk(kernel.body) if isinstance(s, ins.Dot)}
    for stmt in walk(kernel.body):
        if isinstance(stmt, ins.Cast) and stmt.x in products and e.uses[stmt.x] == 1:
            dtype = stmt.out.type.dtype
            if dtype.is_float and dtype.bits >= 16 and stmt.x.type.dtype.is_float:
                e.rounded[stmt.x] = dtype


def _entry(
    program: TileProgram,
    entry_name: str,
    functions_of: dict[Kernel, str],
    checks_of: dict[Kernel, tuple[str, ...]],
) -> tuple[str, Entry]:
    out = Writer(taken=(entry_name, *functions_of.values(), *_WORDS))
    names: dict[Memory, str] = {}
    scalars: dict[ex.Var, str] = {}
    arguments: list[tuple[str, str]] = []
    given: list[str] = []
    whole = written_whole(program)
    for param in program.params:
        if not isinstance(param, Memory):
            scalars[param] = out.name(param.name)
            arguments.append(("scalar", param.name))
            given.append(scalars[param])
        elif param.role is not Role.OUT or param not in whole:
            name = out.name(param.name)
            names[param] = name
            arguments.append(("tensor", param.name))
            given.append(name)
    for dim in program.dims:
        scalars[dim] = out.name(dim.name)
        extent = _extent(program, names, dim)
        if extent is None:
            arguments.append(("dim", dim.name))
            given.append(scalars[dim])
        else:
            out.line(f"{scalars[dim]} = {extent}")
    results = []
    for param in program.params:
        if isinstance(param, Memory) and param.role in (Role.OUT, Role.INOUT):
            results.append((param.name, _result(out, param, names, scalars)))
    for buffer in program.buffers if isinstance(program, Program) else ():
        names[buffer] = out.name(buffer.name)
        some = tuple(simplify(largest(n, 1)) for n in buffer.shape)  # no tensor is empty
        out.line(f"{names[buffer]} = {tensor(replace(buffer, shape=some), scalars, 'nl.hbm')}")
    calls = program.calls if isinstance(program, Program) else (_own_call(program),)
    marks = []
    for call in calls:
        with ExitStack() as around:
            if call.when is not None:
                around.enter_context(out.block(f"if {text(call.when, scalars)}"))
            if isinstance(program, Program):
                around.enter_context(viewed(out, program, call, names, scalars))
            arguments_of = _call(call, names, scalars)
            if texts := checks_of[call.kernel]:
                _refuse_marks(call)
                marks.append(out.name("marks"))
                shape = f"(1, {len(texts)})"
                out.line(f"{marks[-1]} = nl.ndarray({shape}, dtype=nl.int32, buffer=nl.shared_hbm)")
                arguments_of.append(marks[-1])
            out.line(f"{functions_of[call.kernel]}({', '.join(arguments_of)})")
    checks = tuple(checks_of[call.kernel] for call in calls if checks_of[call.kernel])
    returned = ", ".join((*(name for _, name in results), *marks))
    out.line(f"return {returned}")
    head = f"\n\n@nki.jit\ndef {entry_name}({', '.join(given)}):\n"
    entry = Entry(entry_name, tuple(arguments), tuple(name for name, _ in results), checks)
    return head + out.text(), entry


def _extent(program: TileProgram, names: dict[Memory, str], dim: ex.Var) -> str | None:
    """A dim from the shape of an argument."""
    for memory, name in names.items():
        if memory.packed is None and dim in memory.shape:
            return f"{name}.shape[{memory.shape.index(dim)}]"
    return None


def _result(
    out: Writer, param: Memory, names: dict[Memory, str], scalars: dict[ex.Var, str]
) -> str:
    """The tensor of an output; one that is read as well begins as a copy of its argument."""
    given = names.get(param)
    name = names[param] = out.name(_own_name(param, names))
    out.line(f"{name} = {tensor(param, scalars, 'nl.shared_hbm')}")
    if given:
        out.line(f"nisa.dma_copy(dst={name}, src={given})")
    return name


def _own_name(param: Memory, others: Iterable[Memory]) -> str:
    """The name of a tensor beside that of the argument that it comes of."""
    return f"{param.name}_out" if any(m.name == param.name for m in others) else param.name


def _own_call(kernel: TileProgram) -> Call:
    assert isinstance(kernel, Kernel)
    return Call(kernel, tuple(kernel.params))


def _refuse_marks(call: Call) -> None:
    """DSL0590 for assertions of a kernel that may not be called: nobody would write their marks."""
    if call.when is not None:
        text = f"{call.kernel.name} asserts and is called on a condition: its marks may lack"
        raise error("DSL0590", text, call.loc, hint="assert nothing there, or call it always")


def _call(call: Call, names: dict[Memory, str], scalars: dict[ex.Var, str]) -> list[str]:
    """The arguments of a kernel: its parameters, then its dims."""
    given = [names[a] if isinstance(a, Memory) else text(a, scalars) for a in call.args]
    sizes: dict[ex.Expr, ex.Expr] = {}
    for param, arg in zip(call.kernel.params, call.args, strict=True):
        if isinstance(param, Memory) and isinstance(arg, Memory):
            for extent, size in zip(param.shape, arg.shape, strict=True):
                sizes.setdefault(extent, size)
            for stride, step in zip(param.strides or (), strides_of(arg), strict=False):
                sizes.setdefault(stride, step)
    for dim in call.kernel.dims:
        given.append(text(sizes.get(dim, dim), scalars))
    return given
