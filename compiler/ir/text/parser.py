"""Reads the text form of Tile IR; `dslc.compiler.ir.text.printer` has the grammar.

Malformed text is a located error: DSL0401 syntax, DSL0402 an unknown name, DSL0403 a name defined
twice, DSL0404 operands that do not fit. What the text means is the verifier's business.
"""

from __future__ import annotations

from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import INDEX, parse_dtype
from dslc.compiler.ir.expr import Expr, Var
from dslc.compiler.ir.program import (
    Call,
    GridAxis,
    Kernel,
    PackedParam,
    Param,
    Program,
    Requirement,
    TileProgram,
    View,
)
from dslc.compiler.ir.text.parse_statements import StatementReader
from dslc.compiler.ir.text.tokens import Cursor
from dslc.compiler.ir.values import Memory


def parse_program(text: str, file: str = "<ir>") -> TileProgram:
    """The one kernel of the text, or its program. DSL04xx where the text is malformed."""
    cursor = Cursor(text, file)
    kernels: dict[str, Kernel] = {}
    cursor.lines()
    while cursor.token.text == "kernel":
        token = cursor.following
        kernel = _KernelReader(cursor).kernel()
        if kernel.name in kernels:
            raise cursor.defined_twice(token)
        kernels[kernel.name] = kernel
    program: TileProgram
    if kernels and len(kernels) == 1 and cursor.token.kind == "end":
        (program,) = kernels.values()
        return program
    program = _KernelReader(cursor).program(kernels)
    cursor.take("end", "the end of the text")
    return program


class _KernelReader(StatementReader):
    """Reads one kernel or program; names are its own."""

    def kernel(self) -> Kernel:
        cursor = self.cursor
        cursor.expect("kernel")
        name, dims, params, loc = self._head()
        doc, fixed = self._facts()
        packed = self._packed_params()
        config = self._numbers("config")
        threads, cluster, rasterization = (
            self._count("threads"),
            self._count("cluster"),
            self._rasterization(),
        )
        requires = self._requirements()
        workspaces = self._declarations()
        grid = self._grid() if self._header("grid") else ()
        body = self.statements()
        cursor.expect("}")
        cursor.end_line()
        return Kernel(
            name, params, dims, grid, body, requires, workspaces, fixed, config,
            doc=doc, loc=loc, packed=packed, threads=threads, rasterization=rasterization,
            cluster=cluster,
        )  # fmt: skip

    def program(self, known: dict[str, Kernel]) -> Program:
        cursor = self.cursor
        cursor.expect("program")
        name, dims, params, loc = self._head()
        doc, fixed = self._facts()
        packed = self._packed_params()
        requires = self._requirements()
        buffers = self._declarations()
        views = self._views()
        calls: list[Call] = []
        while cursor.accept("call"):
            token = cursor.name("the name of a kernel")
            if token.text not in known:
                raise cursor.unknown("kernel", token, known)
            cursor.expect("(")
            args = cursor.until(")", self._argument_of_call)
            when = self.expr() if cursor.accept("when") else None
            calls.append(Call(known[token.text], args, self.at(), when))
            cursor.end_line()
        cursor.expect("}")
        cursor.end_line()
        return Program(
            name, params, dims, buffers, tuple(calls), fixed, doc, loc, packed, requires, views
        )

    def _views(self) -> tuple[View, ...]:
        views: list[View] = []
        while self._header("view"):
            base = self.memory()
            self.cursor.expect("+")
            offset = self.expr()
            self.cursor.expect("as")
            views.append(View(self.declaration(), base, offset))
            self.cursor.end_line()
        return tuple(views)

    def _requirements(self) -> tuple[Requirement, ...]:
        requirements: list[Requirement] = []
        while self._header("require"):
            condition = self.expr()
            self.cursor.expect(",")
            requirements.append(Requirement(condition, self.cursor.string(), self.at()))
            self.cursor.end_line()
        return tuple(requirements)

    def _head(self) -> tuple[str, tuple[Var, ...], tuple[Param, ...], Loc | None]:
        cursor = self.cursor
        name = cursor.name("a name").text
        cursor.expect("[")
        dims = cursor.until("]", self._dim)
        self._foresee_scalars()
        cursor.expect("(")
        params = cursor.until(")", self._param)
        loc = self.at()
        cursor.expect("{")
        cursor.lines()
        return name, dims, params, loc

    def _dim(self) -> Var:
        return self.define_scalar(self.cursor.name("a dim"), INDEX)

    def _foresee_scalars(self) -> None:
        """Shapes may speak of scalar parameters that come later."""
        depth = 0
        tokens = self.cursor.ahead()
        windows = zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False)
        for before, token, colon, word in windows:
            depth += (before.text in ("(", "[")) - (before.text in (")", "]"))
            if depth <= 0:
                return
            starts = depth == 1 and before.text in ("(", ",") and colon.text == ":"
            if starts and token.kind == "name" and (dtype := parse_dtype(word.text)):
                self.define_scalar(token, dtype)

    def _param(self) -> Param:
        if self.cursor.token.kind == "memory":
            return self.declaration()
        token = self.cursor.name("a parameter")
        self.cursor.expect(":")
        self.cursor.dtype()
        return self.scalars[token.text]

    def _facts(self) -> tuple[str | None, tuple[tuple[str, int], ...]]:
        doc = None
        if self._header("doc"):
            doc = self.cursor.string()
            self.cursor.end_line()
        return doc, self._numbers("fixed")

    def _packed_params(self) -> tuple[PackedParam, ...]:
        params: list[PackedParam] = []
        while self._header("packed"):
            params.append(self.packed_param())
            self.cursor.end_line()
        return tuple(params)

    def _rasterization(self) -> Expr | None:
        if not self._header("rasterize"):
            return None
        self.cursor.expect("(")
        height = self.expr()
        self.cursor.expect(")")
        self.cursor.end_line()
        return height

    def _count(self, word: str) -> int | None:
        if not self._header(word):
            return None
        self.cursor.expect("(")
        count = self.cursor.integer()
        self.cursor.expect(")")
        self.cursor.end_line()
        return count

    def _header(self, word: str) -> bool:
        """Take the word of a header line; a result of that name is none."""
        return self.cursor.following.text not in (":", ",", "=") and self.cursor.accept(word)

    def _numbers(self, word: str) -> tuple[tuple[str, int], ...]:
        if not self._header(word):
            return ()
        numbers: list[tuple[str, int]] = []
        while not numbers or self.cursor.accept(","):
            name = self.cursor.name("a name").text
            self.cursor.expect("=")
            numbers.append((name, self.cursor.integer()))
        self.cursor.end_line()
        return tuple(numbers)

    def _declarations(self) -> tuple[Memory, ...]:
        memories: list[Memory] = []
        while self._header("memory"):
            memories.append(self.declaration())
            self.cursor.end_line()
        return tuple(memories)

    def _grid(self) -> tuple[GridAxis, ...]:
        axes: list[GridAxis] = []
        while not axes or self.cursor.accept(","):
            axes.append(GridAxis(*self.range(), self.cursor.accept("reversed")))
        self.cursor.end_line()
        return tuple(axes)

    def _argument_of_call(self) -> Memory | Expr:
        return self.memory() if self.cursor.token.kind == "memory" else self.expr()
