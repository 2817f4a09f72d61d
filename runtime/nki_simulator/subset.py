"""The Python subset of kernel bodies, and the names that a source gives its tiles."""

from __future__ import annotations

import ast

from dslc.runtime.nki_simulator.neuroncore import Core
from dslc.runtime.nki_simulator.syntax import nodes

_FORBIDDEN: dict[type[ast.AST], str] = {
    ast.Global: "global", ast.Nonlocal: "nonlocal", ast.Yield: "yield", ast.YieldFrom: "yield from",
    ast.Await: "await", ast.AsyncFor: "async for", ast.AsyncWith: "async with", ast.Try: "try",
}  # fmt: skip


def check_subset(tree: ast.Module, core: Core) -> None:
    """A fault for what NKI's compiler does not take in a kernel."""
    for top in tree.body:
        if not isinstance(top, ast.FunctionDef):
            continue
        for node in nodes(top):
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                if node.args.kwonlyargs:
                    core.fail("subset", "a parameter after * is not taken", node.lineno)
            elif (word := _FORBIDDEN.get(type(node))) is not None:
                core.fail("subset", f"`{word}` is not taken", getattr(node, "lineno", 0))


def assigned_names(tree: ast.Module, file: str) -> dict[tuple[str, int], str]:
    """By file and line the name that a tile made there is assigned or appended to."""
    names: dict[tuple[str, int], str] = {}
    for node in nodes(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=made):
                pass
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[made]):
                pass
            case _:
                continue
        for call in nodes(made):
            match call:
                case ast.Call(func=ast.Attribute(attr="ndarray" | "zeros")):
                    names[file, call.lineno] = name
    return names
