"""Python's constructs that the language leaves out, and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping

# By the keyword or mark that gives a construct away: the sentence and the hint.
FOREIGN: Mapping[str, tuple[str, str | None]] = {
    "import": ("there is no `import`", "write `from FILE import NAME` for another `.tile` file"),
    "class": ("there are no classes", None),
    "lambda": ("there is no `lambda`", "write a `def` at the top level: it is inlined"),
    "try": ("there is no `try`", "nothing raises in a kernel: test the condition with `if`"),
    "except": ("there is no `except`", None),
    "finally": ("there is no `finally`", None),
    "raise": ("there is no `raise`", 'write `assert condition, "text"`'),
    "with": ("there is no `with`", None),
    "async": ("there is no `async`", "`copy_async` starts a copy"),
    "await": ("there is no `await`", "`wait(n)` waits for copies"),
    "yield": ("there is no `yield`", None),
    "del": ("there is no `del`", "a tile lives until its last use"),
    "global": ("there is no `global`", None),
    "nonlocal": ("there is no `nonlocal`", None),
    "break": ("there is no `break`", "write the condition in a `while`"),
    "continue": ("there is no `continue`", "put the rest of the body under an `if`"),
    "is": ("there is no `is`", "write `==`"),
    "in": ("there is no test by `in`", "compare with `==` and `or`"),
    "as": ("there is no `as`", "a name keeps its name"),
    ":=": ("there is no `:=`", "write the assignment on a line of its own"),
    "->": ("there is no `->`", "results are `out` parameters"),
    "@": ("there is no `@`", "write `dot(a, b)` for the matrix product"),
    "@=": ("there is no `@=`", "write `acc += dot(a, b)`"),
    "{": ("there are no dictionaries and no sets", None),
}
