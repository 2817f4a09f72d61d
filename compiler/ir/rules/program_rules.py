"""What a program of several kernels asks: requirements over its dims, calls that fit its memories."""

from __future__ import annotations

from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.expr import Expr, Var
from dslc.compiler.ir.program import Param, Program
from dslc.compiler.ir.rules.tile_rules import Fail
from dslc.compiler.ir.values import Memory, Role, alignment


def verify_requirements(program: Program) -> None:
    """DSL0410 or DSL0413 where a requirement is no condition over the program's dims and scalars."""
    scalars = _scalars(program)
    for requirement in program.requires:
        if unknown := ex.free_vars(requirement.condition) - scalars:
            message = f"{', '.join(sorted(v.name for v in unknown))} is not defined here"
            raise error("DSL0410", message, requirement.loc)
        if requirement.condition.dtype != BOOL:
            raise error("DSL0413", "a requirement is no condition", requirement.loc)


def verify_views(program: Program) -> None:
    """DSL04xx for a view of no parameter or buffer, or that is of other elements than its base."""
    known = {m for m in (*program.params, *program.buffers) if isinstance(m, Memory)}
    scalars = _scalars(program)
    for view in program.views:
        memory, base = view.memory, view.base
        place = f"view @{memory.name} of @{base.name}"
        if base not in known:
            raise error("DSL0410", f"{place}: there is no such parameter or buffer", memory.loc)
        if memory.strides is None or len(memory.strides) != memory.rank:
            raise error("DSL0415", f"{place}: {memory.rank} axes, other strides", memory.loc)
        if memory.dtype != base.dtype or view.offset.dtype != INDEX:
            raise error("DSL0413", f"{place}: other dtype, or no index as its offset", memory.loc)
        if memory.role is not base.role or alignment(memory) > alignment(base):
            raise error(
                "DSL0415", f"{place}: other role, or begins at higher multiples", memory.loc
            )
        for expr in (view.offset, *memory.shape, *memory.strides):
            if unknown := ex.free_vars(expr) - scalars:
                names = ", ".join(sorted(v.name for v in unknown))
                raise error("DSL0410", f"{place}: {names} is not defined here", memory.loc)


def _scalars(program: Program) -> set[Var]:
    return {p for p in program.params if isinstance(p, Var)} | set(program.dims)


def verify_calls(program: Program) -> None:
    """DSL04xx where the arguments of a call do not fit its kernel's parameters."""
    views = (v.memory for v in program.views)
    known = {m for m in (*program.params, *program.buffers, *views) if isinstance(m, Memory)}
    scalars = _scalars(program)
    for call in program.calls:
        place = f"call {call.kernel.name}"
        if len(call.args) != len(call.kernel.params):
            message = f"{place} takes {len(call.kernel.params)} arguments, not {len(call.args)}"
            raise error("DSL0404", message, call.loc)
        if call.when is not None:
            if unknown := ex.free_vars(call.when) - scalars:
                names = ", ".join(sorted(v.name for v in unknown))
                raise error("DSL0410", f"{place}: {names} is not defined here", call.loc)
            if call.when.dtype != BOOL:
                raise error("DSL0413", f"{place}: `when` is no condition", call.loc)
        for param, arg in zip(call.kernel.params, call.args, strict=True):
            if failed := _argument(param, arg, known, scalars):
                raise error(failed[0], f"{failed[1]}\n  in: {place}", call.loc)


def _argument(
    param: Param, arg: Memory | Expr, known: set[Memory], scalars: set[Var]
) -> Fail | None:
    if isinstance(param, Memory):
        if not isinstance(arg, Memory):
            return "DSL0415", f"@{param.name} is a memory, its argument a scalar"
        if arg not in known:
            return "DSL0410", f"@{arg.name} is no memory of the program"
        if arg.dtype != param.dtype or arg.rank != param.rank:
            return "DSL0413", f"@{arg.name} does not fit @{param.name}: other dtype or axes"
        if alignment(arg) < alignment(param):
            return "DSL0413", f"@{arg.name} begins at lower multiples of bytes than @{param.name}"
        if arg.role is Role.IN and param.role is not Role.IN:
            return "DSL0415", f"@{arg.name} is only read: its role is `in`"
        return None
    if isinstance(arg, Memory):
        return "DSL0415", f"{param.name} is a scalar, its argument a memory"
    if unknown := ex.free_vars(arg) - scalars:
        return "DSL0410", f"{', '.join(sorted(v.name for v in unknown))} is not defined here"
    if arg.dtype != param.dtype:
        return "DSL0413", f"{param.name} is {param.dtype}, its argument {arg.dtype}"
    return None
