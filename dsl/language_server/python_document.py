"""A Python module with decorated kernels, read without running it.

What a kernel captures is taken from the module's text: constants, dtypes, layouts, plain functions of
its top level. A kernel that captures anything else, from another module say, is not checked here.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc
from dslc.frontend import tree
from dslc.frontend.python_body import BodyReader
from dslc.frontend.python_signature import param_types, read_param
from dslc.frontend.python_source import Source
from dslc.frontend.tokens import PYTHON_KEYWORDS, Token
from dslc.language_server.document import Document, Part, new_key

_BEGIN = re.compile(
    r"^(?:@|def |class |import |from |if |for |while |with |try:|\w+(?:\s*,\s*\w+)*\s*=)", re.M
)
_DECORATED = re.compile(r"@(?:dslc\.)?(kernel|program)\b")
_MODULES = frozenset({"dslc", "lang"})
_MARKS = {
    tokenize.NUMBER: "INT",
    tokenize.STRING: "STRING",
}


class PythonDocument(Document):
    """The parts of a Python module; of those in the Tile language the items are trees."""

    def pieces(self, text: str) -> Iterator[str]:
        """The text of each statement of the top level, decorators with what they decorate."""
        begins = [0]
        is_decorated = False
        for found in _BEGIN.finditer(text):
            if not is_decorated and found.start():
                begins.append(found.start())
            is_decorated = found[0] == "@"
        for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
            yield text[begin:end]

    def part(self, text: str) -> Part:
        """A statement: its tokens, and of a decorated function its tree."""
        part = Part(text, new_key(), is_code=False)
        part.tokens = list(_tokens(text))
        decorated = _DECORATED.match(text)
        if decorated is None:
            return part
        part.is_code = True
        try:
            part.items = tuple(_Reader(part).decorated(decorated[1]))
        except SyntaxError:  # Python's own tools say it
            pass
        except DiagnosticError as failure:
            part.errors = failure.diagnostics
        return part

    @property
    def items(self) -> tuple[tree.TopLevel, ...]:
        """Kernels whose captures the module itself has, behind these."""
        captured: dict[str, tree.TopLevel] = {}
        kernels = []
        for part in self.parts:
            if part.items and all(self._capture(n, captured) for n in _free(part)):
                kernels.append(part.items[0])
        return (*captured.values(), *kernels)

    def _capture(self, name: str, captured: dict[str, tree.TopLevel]) -> bool:
        """Read what a name stands for; False where that is in another module."""
        if name in captured:
            return True
        for part in self.parts:
            if part.is_code or not part.tokens:
                continue
            first = part.tokens[0]
            if first.kind in ("from", "import") and any(t.text == name for t in part.tokens[2:]):
                return False
            is_function = (
                first.kind == "def" and len(part.tokens) > 1 and part.tokens[1].text == name
            )
            if is_function or (first.text == name and part.tokens[1].kind == "="):
                item = _captured(part, name)
                if item is None:
                    return False
                inner = _free(part) if is_function else set()
                if not all(self._capture(n, captured) for n in inner - {name}):
                    return False
                captured[name] = item
        return True


def _tokens(text: str) -> Iterator[Token]:
    """The tokens of Python, as those of the language."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = _MARKS.get(token.type, "")
            if token.type == tokenize.OP:
                kind = token.string
            elif token.type == tokenize.NAME:
                is_word = token.string in PYTHON_KEYWORDS or token.string == "parallel"
                kind = token.string if is_word else "NAME"
            if kind:
                (line, col), (end_line, end_col) = token.start, token.end
                yield Token(kind, token.string, line, col + 1, end_line, end_col + 1)
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return


def _free(part: Part) -> set[str]:
    """The names that a part reads and that are neither its own nor of the language."""
    from dslc.language_server.names import locals_of

    own = locals_of(part)
    tokens = part.tokens
    names = set()
    for i, token in enumerate(tokens):
        before = tokens[i - 1].kind if i else ""
        after = tokens[i + 1].kind if i + 1 < len(tokens) else ""
        is_keyword = after == "=" and before in ("(", ",")
        if (
            token.kind == "NAME"
            and token.text not in own
            and before not in (".", "def")
            and not is_keyword
        ):
            names.add(token.text)
    return names - _MODULES


def _captured(part: Part, name: str) -> tree.TopLevel | None:
    """A plain function or a constant; None for what the language has not."""
    try:
        return _Reader(part).plain(name)
    except (SyntaxError, DiagnosticError):
        return None


class _Reader:
    """Reads one statement of a Python module."""

    def __init__(self, part: Part) -> None:
        self.found: list[Diagnostic] = []
        self.source = Source(part.text.split("\n"), part.key)
        self.reader = BodyReader(self.source, self._resolve, self.found.append)
        self.nodes = ast.parse(part.text).body

    def _resolve(self, node: ast.expr, loc: Loc) -> tree.Expr | None:
        """Names of dslc's modules (`dslc.f32`, `lang.sum`) are those of the language."""
        match node:
            case ast.Attribute(ast.Name(module), name) if module in _MODULES:
                return tree.Name(name, loc=loc)
        return None

    def decorated(self, kind: str) -> Iterator[tree.Kernel | tree.Program]:
        """A kernel or a program."""
        node = self.nodes[0] if self.nodes else None
        if not isinstance(node, ast.FunctionDef):
            return
        places = {a.arg: self.source.loc(a) for a in (*node.args.posonlyargs, *node.args.args)}
        annotations = param_types(node, places)
        declared = list(self._declared(node))
        params = tuple(
            read_param(n, annotation, places[n], self.reader)
            for n, annotation in annotations.items()
        )
        doc, body = self.reader.body(node.body)
        if self.found:
            raise DiagnosticError(self.found)
        make = tree.Kernel if kind == "kernel" else tree.Program
        yield make(node.name, params, (*declared, *body), doc, loc=self.source.loc(node))

    def _declared(self, node: ast.FunctionDef) -> Iterator[tree.Const | tree.Tune]:
        """The keywords of the decorator, consts first."""
        keywords = [k for d in node.decorator_list if isinstance(d, ast.Call) for k in d.keywords]
        tunes = []
        for keyword in keywords:
            if keyword.arg is None or keyword.arg in ("target", "autotune"):
                continue
            loc = self.source.loc(keyword)
            value = self.reader.expr(keyword.value)
            if isinstance(value, tree.Sequence):
                tunes.append(tree.Tune(keyword.arg, value.items, loc=loc))
            else:
                yield tree.Const(keyword.arg, value, loc=loc)
        yield from tunes

    def plain(self, name: str) -> tree.TopLevel | None:
        """A constant or a function to be inlined."""
        item: tree.TopLevel | None = None
        match self.nodes[0]:
            case ast.FunctionDef(args=args) as node:
                defaults = self.reader.exprs(args.defaults)
                doc, body = self.reader.body(node.body)
                names = tuple(a.arg for a in args.args)
                item = tree.Function(name, names, defaults, body, doc, loc=self.source.loc(node))
            case ast.Assign([ast.Name()], value) as node:
                item = tree.Const(name, self.reader.expr(value), loc=self.source.loc(node))
        return None if self.found else item
