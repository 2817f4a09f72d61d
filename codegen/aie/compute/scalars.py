"""Scalar expressions of a core: index arithmetic, conditions, numbers."""

from __future__ import annotations

from dslc.codegen.aie.compute.arithmetic import binary, unary
from dslc.codegen.aie.compute.casts import converted
from dslc.codegen.aie.compute.emission import Emission, refuse
from dslc.codegen.aie.compute.indices import Index
from dslc.codegen.aie.dtypes import code_of, element, is_code
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import linear
from dslc.compiler.ir.expr import Expr
from dslc.compiler.ir.instructions import Stmt


def scalar(e: Emission, stmt: Stmt, expr: Expr) -> str:
    """The SSA value of an expression; DSL0590 where a scalar of the caller is read."""
    match expr:
        case ex.Const(value):
            if is_code(expr.dtype) and not expr.dtype.is_integer:
                return e.out.constant(code_of(float(value), expr.dtype), element(expr.dtype))
            return e.out.constant(value, element(expr.dtype, stmt.loc))
        case ex.Var(name):
            if expr not in e.scalars:
                raise refuse(stmt, f"{name} is known neither when compiling nor to a core")
            known = e.scalars[expr]
            return e.out.index(known) if isinstance(known, Index) else known
        case ex.Read(value):
            return e.pull(value, (), 1)
        case ex.Unary(op, x):
            return unary(e, stmt, op, scalar(e, stmt, x), x.dtype, 1)
        case ex.Binary(op, x, y):
            if expr.dtype == INDEX and op in ("add", "sub", "mul"):
                return e.out.index(index(e, stmt, expr))
            return binary(e, stmt, op, scalar(e, stmt, x), scalar(e, stmt, y), x.dtype, 1)
        case ex.Select(condition, x, y):
            parts = ", ".join(scalar(e, stmt, p) for p in (condition, x, y))
            return e.out.op(f"arith.select {parts} : {element(expr.dtype)}", "chosen")
        case ex.Convert(x, dtype, saturate):
            inner = scalar(e, stmt, x)
            return converted(e, stmt, inner, x.dtype, dtype, 1, saturate=saturate)


def index(e: Emission, stmt: Stmt, expr: Expr) -> Index:
    """An index expression as a sum of SSA values."""
    form = linear(expr)
    total = Index(constant=form.constant)
    for atom, factor in form.terms.items():
        known = e.scalars.get(atom) if isinstance(atom, ex.Var) else None
        if isinstance(known, Index):
            total = total + known * factor
            continue
        if isinstance(atom, ex.Binary) and atom.op in ("add", "sub", "mul"):
            x, y = scalar(e, stmt, atom.x), scalar(e, stmt, atom.y)
            name = e.out.op(f"arith.{atom.op}i {x}, {y} : index", "at")
        else:
            name = scalar(e, stmt, atom)
        total = total + Index(((name, factor),))
    return total
