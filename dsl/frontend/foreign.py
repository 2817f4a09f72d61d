"""Python's constructs that the language leaves out, and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping

_LAMBDA = ("there is no `lambda`", "write a function beside the kernel: it is inlined")
_TRY = ("there is no `try`", "nothing raises in a kernel: test the condition with `if`")
_RAISE = ("there is no `raise`", 'write `assert condition, "text"`')
_WALRUS = ("there is no `:=`", "write the assignment on a line of its own")
_IMPORT = ("there is no `import` here", "write `from FILE import NAME` first in a `.tile` file")
_BREAK = ("there is no `break`", "write the condition in a `while`")
_CONTINUE = ("there is no `continue`", "put the rest of the body under an `if`")
_DEL = ("there is no `del`", "a tile lives until its last use")
_COMPREHENSION = (
    "there are no comprehensions",
    "write a `for` loop, or an operation on whole tiles",
)
_BRACES = ("there are no dictionaries and no sets", None)
_ASYNC = ("there is no `async`", "`copy_async` starts a copy")
_AWAIT = ("there is no `await`", "`wait(n)` waits for copies")
_FORMAT = ("there are no f-strings", "`print` takes several arguments")
_ANNOTATION = ("names have no type annotations", "write the assignment alone")

# By the keyword or mark that gives a construct away in a `.tile` file: the sentence and the hint.
FOREIGN: Mapping[str, tuple[str, str | None]] = {
    "import": _IMPORT,
    "class": ("there are no classes", None),
    "lambda": _LAMBDA,
    "try": _TRY,
    "except": ("there is no `except`", _TRY[1]),
    "finally": ("there is no `finally`", _TRY[1]),
    "raise": _RAISE,
    "with": ("there is no `with`", None),
    "async": _ASYNC,
    "await": _AWAIT,
    "yield": ("there is no `yield`", None),
    "del": _DEL,
    "global": ("there is no `global`", None),
    "nonlocal": ("there is no `nonlocal`", None),
    "break": _BREAK,
    "continue": _CONTINUE,
    "is": ("`is` compares with None alone", "write `==`"),
    "in": ("there is no test by `in`", "compare with `==` and `or`"),
    "as": ("there is no `as`", "a name keeps its name"),
    ":=": _WALRUS,
    "->": ("there is no `->`", "results are `out` parameters"),
    "@": ("there is no `@`", "write `dot(a, b)` for the matrix product"),
    "@=": ("there is no `@=`", "write `acc += dot(a, b)`"),
    "{": _BRACES,
    "comprehension": _COMPREHENSION,
    "decorator": ("there are no decorators in a `.tile` file", "write `kernel name(...):`"),
    "annotation": _ANNOTATION,
}

# The same by the class of Python's syntax tree.
FOREIGN_NODES: Mapping[str, tuple[str, str | None]] = {
    "Lambda": _LAMBDA,
    "ListComp": _COMPREHENSION,
    "SetComp": _COMPREHENSION,
    "DictComp": _COMPREHENSION,
    "GeneratorExp": _COMPREHENSION,
    "Dict": _BRACES,
    "Set": _BRACES,
    "Await": _AWAIT,
    "Yield": ("there is no `yield`", None),
    "YieldFrom": ("there is no `yield`", None),
    "JoinedStr": _FORMAT,
    "TemplateStr": _FORMAT,
    "FormattedValue": _FORMAT,
    "Starred": ("arguments and items are not unpacked", "write them out"),
    "NamedExpr": _WALRUS,
    "Constant": ("this literal is none of the language", None),
    "FunctionDef": ("there are no functions inside functions", "write it beside the kernel"),
    "AsyncFunctionDef": _ASYNC,
    "AsyncFor": _ASYNC,
    "AsyncWith": _ASYNC,
    "ClassDef": ("there are no classes", None),
    "Delete": _DEL,
    "AnnAssign": _ANNOTATION,
    "With": ("there is no `with`", None),
    "Match": ("there is no `match`", "write `if` and `elif`"),
    "Raise": _RAISE,
    "Try": _TRY,
    "TryStar": _TRY,
    "Import": ("there is no `import` here", "import at the top of the Python file"),
    "ImportFrom": ("there is no `import` here", "import at the top of the Python file"),
    "Global": ("there is no `global`", None),
    "Nonlocal": ("there is no `nonlocal`", None),
    "Break": _BREAK,
    "Continue": _CONTINUE,
    "TypeAlias": ("there is no `type`", None),
    "Slice": ("a slice stands only in a subscript", None),
}
