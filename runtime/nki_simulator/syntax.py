"""All nodes of a source's syntax tree, found once for the checks that look through them."""

from __future__ import annotations

import ast


def nodes(tree: ast.AST) -> list[ast.AST]:
    """As `ast.walk`, but for the contexts of names, in a third of the time."""
    every = [tree]
    for node in every:  # which grows
        for name in node._fields:
            value = getattr(node, name, None)
            if type(value) is list:
                every += [x for x in value if isinstance(x, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                every.append(value)
    return every
