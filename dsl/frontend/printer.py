"""Syntax tree -> `.tile` text in one canonical form; parsing that gives an equal tree."""

from __future__ import annotations

import math
from typing import assert_never

from dslc.frontend import tree

_INDENT = "    "
_WIDTH = 100

# How tightly an expression binds, as in the grammar: conditional 0, or 1, and 2, not 3, comparison 4.
_BINARY = {
    "or": 1, "and": 2, "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9,
    "*": 10, "/": 10, "//": 10, "%": 10, "**": 12,
}  # fmt: skip
_NOT, _COMPARE, _SIGN, _PRIMARY = 3, 4, 11, 13


def print_module(module: tree.Module) -> str:
    """The text of a whole source."""
    parts = [] if module.doc is None else ["\n".join(_docstring(module.doc, ""))]
    previous: tree.TopLevel | None = None
    for item in module.items:
        apart = not (isinstance(item, tree.Import | tree.Const) and type(item) is type(previous))
        if parts:
            parts.append("\n\n" if apart else "\n")
        parts.append(print_item(item))
        previous = item
    return "".join(parts) + "\n" if parts else ""


def print_item(item: tree.TopLevel) -> str:
    """The text of a top-level item, without a newline at its end."""
    match item:
        case tree.Import(path, names):
            return f"from {path} import {', '.join(names)}"
        case tree.Const():
            return "\n".join(_statement(item, ""))
        case tree.Function(name, params, defaults, body, doc):
            plain = len(params) - len(defaults)
            words = list(params[:plain])
            words += [f"{p}={_expr(d)}" for p, d in zip(params[plain:], defaults, strict=True)]
            return "\n".join([*_signature("def", name, words), *_body(doc, body)])
        case tree.Kernel(name, params, body, doc):
            words = [_param(p) for p in params]
            return "\n".join([*_signature("kernel", name, words), *_body(doc, body)])
        case tree.Program(name, params, body, doc):
            words = [_param(p) for p in params]
            return "\n".join([*_signature("program", name, words), *_body(doc, body)])
        case _:
            assert_never(item)


def print_expression(expr: tree.Expr) -> str:
    """The text of an expression, with no more parentheses than it needs."""
    return _expr(expr)


def _signature(word: str, name: str, params: list[str]) -> list[str]:
    line = f"{word} {name}({', '.join(params)}):"
    if len(line) <= _WIDTH or not params:
        return [line]
    return [f"{word} {name}(", *(f"{_INDENT}{p}," for p in params), "):"]


def _param(param: tree.Param) -> str:
    words = [f"{param.name}:"] + ([param.mode] if param.mode != "in" else [])
    dims = "" if param.dims is None else f"[{_list(param.dims)}]"
    words.append(_expr(param.dtype, _PRIMARY) + dims)
    if param.strides is not None:
        words.append(f"strides ({_list(param.strides)})")
    if param.packed is not None:
        words.append(f"packed {param.packed}")
    if param.optional:
        words.append("| None")
    return " ".join(words)


def _body(doc: str | None, body: tuple[tree.Statement, ...]) -> list[str]:
    lines = [] if doc is None else _docstring(doc, _INDENT)
    previous: tree.Statement | None = None
    for statement in body:
        declares = isinstance(statement, tree.Const | tree.Tune | tree.Require)
        if isinstance(previous, tree.Const | tree.Tune | tree.Require) and not declares:
            lines.append("")
        lines += _statement(statement, _INDENT)
        previous = statement
    return lines or [f"{_INDENT}pass"]


def _block(body: tuple[tree.Statement, ...], indent: str) -> list[str]:
    return [line for s in body for line in _statement(s, indent)] or [f"{indent}pass"]


def _statement(statement: tree.Statement, indent: str) -> list[str]:
    inner = indent + _INDENT
    match statement:
        case tree.Const(name, value):
            text = f"const {name} = {_expr(value)}"
        case tree.Tune(name, choices):
            values = " | ".join(_expr(c, _BINARY["^"]) for c in choices)
            text = f"tune {name} = {values}" if choices else f"tune {name}"
        case tree.Require(condition):
            text = f"require {_expr(condition)}"
        case tree.Assign(target, value):
            text = f"{_exprs(target, bare=True)} = {_exprs(value)}"
        case tree.AugAssign(target, op, value):
            text = f"{_expr(target)} {op}= {_exprs(value)}"
        case tree.For(targets, iterator, body):
            head = f"{indent}for {', '.join(t.id for t in targets)} in {_expr(iterator)}:"
            return [head, *_block(body, inner)]
        case tree.While(condition, body):
            return [f"{indent}while {_expr(condition)}:", *_block(body, inner)]
        case tree.If():
            return _if(statement, indent)
        case tree.ExprStatement(value):
            text = _exprs(value)
        case tree.Assert(condition, message):
            text = f"assert {_expr(condition)}" + (f", {_expr(message)}" if message else "")
        case tree.Return(value):
            text = f"return {_exprs(value)}"
        case tree.Pass():
            text = "pass"
        case _:
            assert_never(statement)
    return [indent + text]


def _if(statement: tree.If, indent: str) -> list[str]:
    inner = indent + _INDENT
    lines = [f"{indent}if {_expr(statement.condition)}:", *_block(statement.then, inner)]
    otherwise = statement.otherwise
    while len(otherwise) == 1 and isinstance(otherwise[0], tree.If):
        lines.append(f"{indent}elif {_expr(otherwise[0].condition)}:")
        lines += _block(otherwise[0].then, inner)
        otherwise = otherwise[0].otherwise
    if otherwise:
        lines += [f"{indent}else:", *_block(otherwise, inner)]
    return lines


def _exprs(expr: tree.Expr, *, bare: bool = False) -> str:
    """An expression that stands alone: a tuple without its brackets, a short one only if `bare`."""
    if isinstance(expr, tree.Sequence) and len(expr.items) >= (1 if bare else 2):
        return _list(expr.items) + ("," if len(expr.items) == 1 else "")
    return _expr(expr)


def _list(items: tuple[tree.Expr, ...]) -> str:
    return ", ".join(map(_expr, items))


def _expr(expr: tree.Expr, tightness: int = 0) -> str:
    """The text of an expression where anything looser than `tightness` needs parentheses."""
    text, own = _unwrapped(expr)
    return f"({text})" if own < tightness else text


def _unwrapped(expr: tree.Expr) -> tuple[str, int]:
    match expr:
        case tree.Name(name):
            return name, _PRIMARY
        case tree.Literal():
            return _literal(expr)
        case tree.Sequence(items):
            return f"[{_list(items)}]", _PRIMARY
        case tree.Unary("not", operand):
            return f"not {_expr(operand, _NOT)}", _NOT
        case tree.Unary(op, operand):
            return op + _expr(operand, _SIGN), _SIGN
        case tree.Binary("**", left, right):
            return f"{_expr(left, _PRIMARY)} ** {_expr(right, _SIGN)}", _BINARY["**"]
        case tree.Binary(op, left, right):
            own = _BINARY[op]
            return f"{_expr(left, own)} {op} {_expr(right, own + 1)}", own
        case tree.Compare(operands, ops):
            text = _expr(operands[0], _COMPARE + 1)
            for op, operand in zip(ops, operands[1:], strict=True):
                text += f" {op} {_expr(operand, _COMPARE + 1)}"
            return text, _COMPARE
        case tree.Conditional(condition, then, otherwise):
            return f"{_expr(then, 1)} if {_expr(condition, 1)} else {_expr(otherwise)}", 0
        case tree.Call(function, args, keywords):
            words = [*map(_expr, args), *(f"{k.name}={_expr(k.value)}" for k in keywords)]
            return f"{_expr(function, _PRIMARY)}({', '.join(words)})", _PRIMARY
        case tree.Attribute(value, name):
            base = _expr(value, _PRIMARY)
            number = isinstance(value, tree.Literal) and value.kind in ("int", "float")
            return (f"({base}).{name}" if number else f"{base}.{name}"), _PRIMARY
        case tree.Subscript(value, items):
            inside = ", ".join(map(_item, items)) or "()"
            return f"{_expr(value, _PRIMARY)}[{inside}]", _PRIMARY
        case _:
            assert_never(expr)


def _item(item: tree.Expr | tree.Slice) -> str:
    if not isinstance(item, tree.Slice):
        return _expr(item)
    parts = [_bound(item.start), ":", _bound(item.stop)]
    if item.step is not None:
        parts += [":", _bound(item.step)]
    return " ".join(p for p in parts if p)


def _bound(bound: tree.Expr | None) -> str:
    return "" if bound is None else _expr(bound)


def _literal(literal: tree.Literal) -> tuple[str, int]:
    value = literal.value
    if isinstance(value, str):
        return _quoted(value), _PRIMARY
    if isinstance(value, float) and math.isinf(value):
        text = "1e999" if value > 0 else "-1e999"  # too large for a float: read as infinity
    else:
        text = repr(value)
    return text, _SIGN if text.startswith("-") else _PRIMARY


def _quoted(text: str) -> str:
    return '"' + "".join(_escaped(c, '"\\') for c in text) + '"'


def _docstring(doc: str, indent: str) -> list[str]:
    """A docstring, its further lines indented; quotes are escaped only where they would end it."""
    text = "".join(c if c == "\n" else _escaped(c, "\\") for c in doc)
    if '"""' in doc or doc.endswith('"'):
        text = text.replace('"', '\\"')
    lines = text.split("\n")
    shown = [f'{indent}"""{lines[0]}', *(f"{indent}{line}" if line else "" for line in lines[1:])]
    if len(lines) > 1:
        shown.append(indent)
    shown[-1] += '"""'
    return shown


def _escaped(character: str, special: str) -> str:
    if character in special:
        return "\\" + character
    if character.isprintable():
        return character
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    if named:
        return named
    code = ord(character)
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )
