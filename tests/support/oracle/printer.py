"""A program of the oracle as text of the language."""

from __future__ import annotations

from support.oracle.tree import (
    Assign,
    Buffer,
    Expr,
    For,
    If,
    Program,
    Scatter,
    Stmt,
    Store,
    Sub,
    Swap,
    Tensor,
    While,
)

INFIX = {"+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>",
         "==", "!=", "<", "<=", ">", ">=", "and", "or"}  # fmt: skip


def source(program: Program) -> str:
    """The kernel, called `k`."""
    params = [_tensor(t) for t in program.tensors]
    params += [f"{name}: {dtype}" for name, dtype, _ in program.scalars]
    lines = [f"kernel k({', '.join(params)}):"]
    depth = 1
    if program.grid:
        names = ", ".join(name for name, _, _ in program.grid)
        ranges = ", ".join(f"range(0, {extent}, {block})" for _, extent, block in program.grid)
        lines.append(f"    for {names} in parallel({ranges}):")
        depth = 2
    lines += _body(program.body, depth)
    return "\n".join(lines) + "\n"


def _tensor(t: Tensor) -> str:
    mode = "" if t.mode == "in" else f"{t.mode} "
    tail = " packed row" if t.packed else ""
    if t.strided:
        tail = f" strides ({', '.join(f'{t.name}_{i}' for i in range(len(t.extents)))})"
    return f"{t.name}: {mode}{t.dtype}[{', '.join(map(str, t.extents))}]{tail}"


def _body(body: tuple[Stmt, ...], depth: int) -> list[str]:
    lines = [line for stmt in body for line in _statement(stmt, depth)]
    return lines or [f"{'    ' * depth}pass"]


def _statement(stmt: Stmt, depth: int) -> list[str]:
    pad = "    " * depth
    match stmt:
        case Assign():
            return [f"{pad}{stmt.name} {stmt.operator}= {text(stmt.value)}"]
        case Swap():
            return [f"{pad}{', '.join(stmt.names)} = {', '.join(map(text, stmt.values))}"]
        case Store():
            where = f"{stmt.tensor}[{subscripts(stmt.subs)}]"
            if stmt.where is not None:
                return [f"{pad}store({where}, {text(stmt.value)}, where={text(stmt.where)})"]
            return [f"{pad}{where} {stmt.operator}= {text(stmt.value)}"]
        case Scatter():
            where = f"{stmt.tensor}[{subscripts(stmt.subs)}]"
            args = f"{where}, {text(stmt.ids)}, {text(stmt.value)}, {stmt.axis}"
            return [f"{pad}scatter({args})"]
        case Buffer():
            return [f"{pad}{stmt.name} = buffer({stmt.dtype}, {list(stmt.shape)})"]
        case For():
            bounds = f"{stmt.start}, {stmt.stop}, {stmt.step}{stmt.options}"
            return [f"{pad}for {stmt.name} in range({bounds}):", *_body(stmt.body, depth + 1)]
        case While():
            step = f"{pad}    {stmt.name} = {stmt.name} - 1"
            head = [f"{pad}{stmt.name} = {stmt.start}", f"{pad}while {stmt.name} > 0:"]
            return [*head, *_body(stmt.body, depth + 1), step]
        case If():
            lines = [f"{pad}if {text(stmt.condition)}:", *_body(stmt.then, depth + 1)]
            if stmt.otherwise:
                lines += [f"{pad}else:", *_body(stmt.otherwise, depth + 1)]
            return lines


def subscripts(subs: tuple[Sub, ...]) -> str:
    return ", ".join(map(_subscript, subs))


def _subscript(sub: Sub) -> str:
    match sub.kind:
        case "all":
            return ":"
        case "new":
            return "None"
        case "point":
            return str(sub.start)
    stop: object = sub.start.plus(sub.length * sub.step)
    if sub.end is not None:
        stop = f"min({stop}, {sub.end})"
    return f"{sub.start} : {stop}" + (f" : {sub.step}" if sub.step != 1 else "")


def number(value: object) -> str:
    """A literal, with brackets where a sign stands first."""
    made = repr(value)
    return f"({made})" if made.startswith("-") else made


def text(e: Expr) -> str:
    """An expression, in brackets where it is infix."""
    args = [text(a) for a in e.args]
    match e.op:
        case "number":
            return number(e.data[0])
        case "variable":
            return str(e.data[0])
        case "affine":
            return f"({e.data[0]})"
        case "neg":
            return f"(-{args[0]})"
        case "invert":
            return f"(~{args[0]})"
        case "not":
            return f"(not {args[0]})"
        case "load":
            tensor, subs, other = e.data
            region = f"{tensor}[{subscripts(subs)}]"
            options = [] if other is None else [f"other={number(other)}"]
            options += [f"where={mask}" for mask in args]
            return f"load({', '.join([region, *options])})" if options else region
        case "part":
            return f"{args[0]}[{subscripts(e.data[0])}]"
        case "gather":
            return f"gather({e.data[0]}[{subscripts(e.data[1])}], {args[0]}, {e.data[2]})"
        case op if op in INFIX:
            return f"({args[0]} {op} {args[1]})"
        case "topk":
            count, axis, which = e.data
            return f"topk({args[0]}, {count}, {axis})[{which}]"
    return f"{e.op}({', '.join(_function(e, args))})"


def _function(e: Expr, args: list[str]) -> list[str]:
    match e.op:
        case "cast":
            return [*args, e.dtype, *(["saturate=True"] if e.data[0] else [])]
        case "zeros" | "full":
            return [e.dtype, str(list(e.shape)), *args]
        case "arange":
            return [str(e.shape[0])]
        case "reshape" | "broadcast":
            return [*args, str(list(e.shape))]
        case "transpose":
            return [*args, *([str(list(e.data[0]))] if e.data[0] is not None else [])]
        case "repeat":
            return [*args, *map(str, e.data)]
        case "concat":
            return [f"[{', '.join(args)}]", str(e.data[0])]
        case "cumsum" | "cumprod" | "cummax" | "cummin":
            return [*args, str(e.data[0])]
        case "sort" | "argsort":
            axis, falls = e.data
            return [*args, str(axis), *(["descending=True"] if falls else [])]
        case "sum" | "prod" | "max" | "min" | "argmax" | "argmin" | "any" | "all" if e.data:
            axis, keep = e.data
            tail = ["keepdims=True"] if keep else []
            return [*args, *([] if axis is None else [str(axis)]), *tail]
        case "dot":
            return [*args, *([f'transposed="{e.data[0]}"'] if e.data[0] else [])]
    return args
