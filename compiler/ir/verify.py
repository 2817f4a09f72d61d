"""The verifier: what every pass may take for granted about Tile IR.

Names are defined once and before they are used; every instruction keeps its rule; loops and branches
hand on values of one type. The first rule that is broken is a DSL04xx error with the statement's text.
"""

from __future__ import annotations

from collections.abc import Iterable

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.dtypes import BOOL, DType
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import COMPARE_OPS, Const, Expr, Read, Select, Var
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.program import Kernel, Program, TileProgram
from dslc.compiler.ir.rewrite import kernels
from dslc.compiler.ir.rules.launch_rules import broken_launches
from dslc.compiler.ir.rules.memory_rules import MEMORY_RULES, reaches_others
from dslc.compiler.ir.rules.program_rules import verify_calls, verify_requirements, verify_views
from dslc.compiler.ir.rules.tile_rules import TILE_RULES, Fail, check_tile, operation_dtype
from dslc.compiler.ir.text.printer import print_expr, print_statement
from dslc.compiler.ir.traverse import (
    Body,
    Name,
    Use,
    entering,
    memories,
    regions,
    results,
    walk,
    writes,
)
from dslc.compiler.ir.values import Memory, Role, TileType, Value

_RULES = TILE_RULES | MEMORY_RULES
_MOST_BLOCKS = 16  # of a cluster


def verify(program: TileProgram) -> None:
    """DSL04xx where the kernel, or a kernel or call of the program, breaks a rule of Tile IR."""
    for kernel in kernels(program):
        _KernelVerifier(kernel).run()
    if isinstance(program, Program):
        verify_requirements(program)
        verify_views(program)
        verify_calls(program)


class _KernelVerifier:
    """Walks a kernel with the names that are visible at each place."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.visible: set[Name] = set()
        self.defined: set[Name | str] = set()
        self.live: set[Memory] = set()
        self.allocated: set[Memory] = set()
        self.stmt: Stmt | None = None

    def run(self) -> None:
        kernel = self.kernel
        for dim in kernel.dims:
            self._define(dim)
        for scalar in kernel.params:
            if isinstance(scalar, Var):
                self._define(scalar)
        for memory in (*kernel.tensors, *kernel.workspaces):
            self._declare(memory)
        for requirement in kernel.requires:
            self._check_expr(requirement.condition, BOOL)
        for axis in kernel.grid:
            for bound in (axis.start, axis.stop, axis.step):
                self._check_expr(bound, axis.var.dtype)
        for axis in kernel.grid:
            self._define(axis.var)
        self._check_cluster()
        self._body(kernel.body)
        if broken := broken_launches(kernel):
            self.stmt, failed = broken
            raise self.fail(*failed)

    def fail(self, code: str, message: str) -> DiagnosticError:
        if self.stmt is None:
            return error(code, f"{message}\n  in: kernel {self.kernel.name}", self.kernel.loc)
        loc = self.stmt.loc or self.kernel.loc
        return error(code, f"{message}\n  in: {print_statement(self.stmt)}", loc)

    def _require(self, failed: Fail | None) -> None:
        if failed:
            raise self.fail(*failed)

    def _check_cluster(self) -> None:
        """Blocks of a cluster run side by side to their ends, and only these reach each other."""
        size = self.kernel.cluster
        if size is None:
            return
        if not 2 <= size <= _MOST_BLOCKS or self.kernel.rasterization is not None:
            raise self.fail(
                "DSL0416", f"a cluster has 2 to {_MOST_BLOCKS} turns, and no rasterization"
            )
        for stmt in walk(self.kernel.body):
            if isinstance(stmt, ins.SemaphoreWait):
                self.stmt = stmt
                raise self.fail("DSL0416", "the turns of a cluster wait for no semaphore")

    # Names

    def _define(self, name: Name) -> None:
        key = name if isinstance(name, Value) else name.name
        if key in self.defined:
            raise self.fail("DSL0411", f"{_called(name)} is defined twice")
        self.defined.add(key)
        self.visible.add(name)
        if isinstance(name, Value):
            self._require(check_tile(name.type) or self._check_threads(name.type))

    def _check_threads(self, type_: TileType) -> Fail | None:
        """Layouts are over the threads of the kernel, once it says how many."""
        threads, layout = self.kernel.threads, type_.layout
        if threads is None or layout is None or layout.threads == threads:
            return None
        return "DSL0414", (
            f"the layout {layout} is over {layout.threads} threads, the kernel has {threads}"
        )

    def _declare(self, memory: Memory) -> None:
        if memory in self.allocated:
            raise self.fail("DSL0411", f"@{memory.name} is declared twice")
        self.allocated.add(memory)
        self.live.add(memory)
        for extent in (*memory.shape, *(memory.strides or ())):
            self._check_expr(extent)
            if not extent.dtype.is_integer:
                raise self.fail("DSL0413", f"an extent of @{memory.name} is {extent.dtype}")
        if memory.align is not None and (memory.align < 1 or memory.align & (memory.align - 1)):
            raise self.fail("DSL0415", f"@{memory.name}: align {memory.align} is no power of two")
        if memory.strides is not None and len(memory.strides) != memory.rank:
            raise self.fail("DSL0415", f"@{memory.name} has {memory.rank} axes, other strides")

    def _check_use(self, use: Use) -> None:
        if not isinstance(use, Value):
            self._check_expr(use)
        elif use not in self.visible:
            raise self.fail("DSL0410", f"{_called(use)} is not defined here")

    def _check_expr(self, expr: Expr, dtype: DType | None = None) -> None:
        for node in ex.walk(expr):
            if isinstance(node, Var) and node not in self.visible:
                raise self.fail("DSL0410", f"{_called(node)} is not defined here")
            if isinstance(node, Read):
                self._check_use(node.value)
            self._require(_expr_rule(node))
        if dtype is not None and expr.dtype != dtype:
            raise self.fail("DSL0413", f"{print_expr(expr)} is {expr.dtype}, not {dtype}")

    # Statements

    def _body(self, body: Body, handed: Iterable[Use] = ()) -> None:
        """A nested body and what it hands on; what it defines is not seen after it."""
        visible, live = set(self.visible), set(self.live)
        owner = self.stmt
        for stmt in body:
            self._statement(stmt)
        self.stmt = owner
        for use in handed:
            self._check_use(use)
        self.visible, self.live = visible, live

    def _statement(self, stmt: Stmt) -> None:
        self.stmt = stmt
        for use in entering(stmt):
            self._check_use(use)
        match stmt:
            case ins.For():
                self._for(stmt)
            case ins.While():
                self._while(stmt)
            case ins.If():
                self._if(stmt)
            case ins.WarpSpecialize():
                self._warp_specialize(stmt)
            case ins.Alloc():
                self._alloc(stmt.memory)
            case _:
                self._instruction(stmt)
        for name in results(stmt):
            self._define(name)

    def _instruction(self, stmt: ins.Instruction) -> None:
        for memory in memories(stmt):
            if memory not in self.live:
                raise self.fail("DSL0415", f"@{memory.name} is not allocated here")
        for region in regions(stmt):
            for axis in region.axes:
                if not axis.start.dtype.is_integer:
                    raise self.fail("DSL0413", f"a subscript is {axis.start.dtype}")
        if self.kernel.cluster is None and reaches_others(stmt):
            raise self.fail("DSL0416", "the kernel has no clusters")
        rule = _RULES.get(type(stmt))
        self._require(rule(stmt) if rule else None)

    def _alloc(self, memory: Memory) -> None:
        if memory.role is not Role.BUFFER:
            raise self.fail("DSL0415", f"@{memory.name} is no buffer: its role is otherwise")
        self._declare(memory)
        if memory.layout is None:
            return
        shape = tuple(n.value if isinstance(n, Const) else None for n in memory.shape)
        if memory.layout.shape != shape:
            message = f"the layout {memory.layout} does not have the shape of @{memory.name}"
            raise self.fail("DSL0414", message)

    def _for(self, stmt: ins.For) -> None:
        for bound in (stmt.start, stmt.stop, stmt.step):
            self._check_expr(bound, stmt.var.dtype)
        if isinstance(stmt.step, Const) and stmt.step.value == 0:
            raise self.fail("DSL0416", "the step of a loop is not 0")
        for name in ("stages", "unroll", "split"):
            value = getattr(stmt, name)
            if value is not None and value < 1:
                raise self.fail("DSL0416", f"{name} is at least 1, not {value}")
        if stmt.atomic not in (None, 1):
            raise self.fail("DSL0416", f"atomic is 1 where it is given, not {stmt.atomic}")
        self._carry(stmt.carried)
        outside = set(self.visible)
        for inner in (stmt.var, *(c.inner for c in stmt.carried)):
            self._define(inner)
        self._body(stmt.body, [c.yielded for c in stmt.carried])
        self.visible = outside

    def _while(self, stmt: ins.While) -> None:
        self._carry(stmt.carried)
        outside, live = set(self.visible), set(self.live)
        for c in stmt.carried:
            self._define(c.inner)
        for s in stmt.before:  # what `before` defines is seen in the body
            self._statement(s)
        self.stmt = stmt
        self._check_expr(stmt.condition, BOOL)
        self._body(stmt.body, [c.yielded for c in stmt.carried])
        self.visible, self.live = outside, live

    def _carry(self, carried: tuple[Carried, ...]) -> None:
        for c in carried:
            types = [_type(u) for u in (c.result, c.inner, c.init, c.yielded)]
            self._one_type(c.result, types)

    def _if(self, stmt: ins.If) -> None:
        self._check_expr(stmt.condition, BOOL)
        for j in stmt.joined:
            self._one_type(j.result, [_type(u) for u in (j.result, j.then, j.otherwise)])
        self._body(stmt.then, [j.then for j in stmt.joined])
        self._body(stmt.otherwise, [j.otherwise for j in stmt.joined])

    def _warp_specialize(self, stmt: ins.WarpSpecialize) -> None:
        specialized = [s for s in walk(self.kernel.body) if isinstance(s, ins.WarpSpecialize)]
        if len(specialized) > 1 or stmt not in self.kernel.body:
            raise self.fail("DSL0416", "a warp_specialize stands once, right in a kernel's body")
        if stmt.warps < 1 or (stmt.registers or 1) < 1:
            raise self.fail("DSL0416", "a warp_specialize has at least one warp, and a register")
        if any(isinstance(s, ins.Sync) for s in walk(stmt.body)):
            raise self.fail(
                "DSL0416", "a warp_specialize takes no part in the barriers of the turn's warps"
            )
        touched = {m for s in walk(stmt.body) for m in memories(s) if m.role is not Role.BUFFER}
        if both := touched & {r.memory for s in walk(self.kernel.body) for r in writes(s)}:
            text = (
                f"@{min(m.name for m in both)} is written, and no barrier meets a warp_specialize"
            )
            raise self.fail("DSL0416", text)
        self._body(stmt.body)

    def _one_type(self, name: Name, types: list[TileType | DType]) -> None:
        if any(t != types[0] for t in types):
            listed = ", ".join(dict.fromkeys(_type_text(t) for t in types))
            raise self.fail("DSL0417", f"{_called(name)} is handed on with other types: {listed}")


def _expr_rule(node: Expr) -> Fail | None:
    """The rule of one node of an expression."""
    match node:
        case Const(value, dtype):
            right = (isinstance(value, bool) == (dtype == BOOL)) and (
                dtype.is_float or isinstance(value, int)
            )
            return None if right else ("DSL0413", f"{value!r} is no constant of {dtype}")
        case ex.Unary(op, x, dtype):
            if op not in ex.UNARY_OPS:
                return "DSL0416", f"{op!r} is no operation on one scalar"
            return operation_dtype(op, x.dtype) or _node_dtype(node, x.dtype)
        case ex.Binary(op, x, y, dtype):
            if op not in ex.BINARY_OPS:
                return "DSL0416", f"{op!r} is no operation on two scalars"
            if x.dtype != y.dtype:
                return "DSL0413", f"{op} has operands of {x.dtype} and {y.dtype}"
            result = BOOL if op in COMPARE_OPS else x.dtype
            return operation_dtype(op, x.dtype) or _node_dtype(node, result)
        case Select(condition, x, y):
            if condition.dtype != BOOL or x.dtype != y.dtype:
                kinds = f"{condition.dtype}, {x.dtype} and {y.dtype}"
                return "DSL0413", f"select has operands of {kinds}"
            return _node_dtype(node, x.dtype)
        case Read(value) if value.type.rank:
            return (
                "DSL0412",
                f"%{value.name} has shape {list(value.type.shape)}: only rank 0 is read",
            )
    return None


def _node_dtype(node: Expr, dtype: DType) -> Fail | None:
    if node.dtype == dtype:
        return None
    return "DSL0413", f"{print_expr(node)} is said to be {node.dtype}, but is {dtype}"


def _type(use: Use) -> TileType | DType:
    return use.type if isinstance(use, Value) else use.dtype


def _type_text(type_: TileType | DType) -> str:
    if isinstance(type_, DType):
        return str(type_)
    layout = f" `{type_.layout}`" if type_.layout is not None else ""
    return f"{type_.dtype}{list(type_.shape)}{layout}"


def _called(name: Name) -> str:
    return f"%{name.name or 't'}" if isinstance(name, Value) else name.name
