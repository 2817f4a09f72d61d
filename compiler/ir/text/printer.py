"""The text form of Tile IR, which `dslc.compiler.ir.text.parser` reads back.

    kernel scale[M](@x: in f16[M, 64], @y: out f16[M, 64], alpha: f32) {
      config BM = 16
      require M % 16 == 0, "M % BM == 0"
      grid m in range(0, M, 16)
      %x = load @x[m : +16, 0 : +64!] : f16[16, 64]
      %wide = cast %x : f32[16, 64]
      %factor = full alpha : f32[16, 64]
      %scaled = mul %wide, %factor : f32[16, 64]
      %y = cast %scaled : f16[16, 64]
      store @y[m : +16, 0 : +64!], %y
    }

`%x` is a tile, `@x` a memory, a bare name a scalar. The grammar, where NAME is a letter and then
letters, digits, `_` and `.`; `x,*` is a list with commas, `x?` may be left out, and a line ends a
statement:

    text      = kernel* program?
    kernel    = "kernel" NAME "[" NAME,* "]" "(" param,* ")" "{" header* stmt* "}"
    program   = "program" NAME "[" NAME,* "]" "(" param,* ")" "{" header* view* call* "}"
    param     = memory | NAME ":" DTYPE
    memory    = "@" NAME ":" ROLE PLACE? DTYPE "[" expr,* "]" ("strides" "(" expr,* ")")? layout?
                ("packed" NAME)? ("offset" INT)? ("align" INT)? at?
    header    = "doc" STRING | "fixed" (NAME "=" INT),* | "config" (NAME "=" INT),* | "memory" memory
              | "threads" "(" INT ")" | "cluster" "(" INT ")" | "rasterize" "(" expr ")"
              | "packed" NAME ":" DTYPE "[" expr,* "]" layout ("lanes" INT)?
              | "require" expr "," STRING at? | "grid" (NAME ":" DTYPE? "in" range "reversed"?),*
    view      = "view" "@" NAME "+" expr "as" memory
    call      = "call" NAME "(" (memory name | expr),* ")" ("when" expr)? at?
    stmt      = (result "=")? WORD argument,* type? at? | loop | while | if
    argument  = STRING | tile | region | memory | expr | NAME "=" value | NAME
    region    = "@" NAME "[" axis,* "]"
    axis      = expr "!"?                      an index: the axis is dropped
              | expr ":" "+" INT (":" INT)? "!"?  a start, a size, a step
    type      = ":" DTYPE "[" INT,* "]" layout?
    layout    = "`" text of the layout "`"
    loop      = results "for" NAME (":" DTYPE)? "in" range option* carry? block
    while     = results "while" carry? block "test" expr "do" block
    if        = results "if" expr block ("else" block)?
    results   = ((tile | NAME) type?,* "=")?
    carry     = "carry" "(" ((tile type | NAME ":" DTYPE) "=" (tile | expr)),* ")"
    block     = "{" stmt* ("yield" (tile | expr),*)? "}"
    range     = "range" "(" expr "," expr "," expr ")"
    at        = "at" STRING ":" INT ":" INT ("-" INT ":" INT)?

`!` says that the slice is proved in bounds. Results of a loop have the carried types unless they say
otherwise. In expressions `3` is an index, `f32(3)` a constant of another dtype, `True` and `False` are
bools, `read(%x)` is the element of a tile of rank 0 and `cast(x, i32)` a conversion; operators are
Python's, all grouping to the left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Expr
from dslc.compiler.ir.instructions import Carried, Instruction, Stmt
from dslc.compiler.ir.program import Kernel, Param, Program, TileProgram
from dslc.compiler.ir.rewrite import fresh_name, kernels
from dslc.compiler.ir.text import words
from dslc.compiler.ir.text.print_expressions import ExpressionPrinter, quoted
from dslc.compiler.ir.traverse import Body, Name, Part, Use, fields
from dslc.compiler.ir.values import Memory, Region, TileType, Value
from dslc.compiler.layout import Layout


def print_program(program: TileProgram, *, locations: bool = False) -> str:
    """The text of a kernel, or of a program with its kernels before it. Ends with a newline."""
    taken: set[str] = set()
    names = {k: fresh_name(k.name, taken) for k in kernels(program)}
    texts = [_KernelPrinter(locations).kernel(k, name) for k, name in names.items()]
    if isinstance(program, Program):
        texts.append(_KernelPrinter(locations).program(program, names))
    return "\n".join(texts)


def print_placed(kernel: Kernel) -> tuple[str, Mapping[Stmt, int]]:
    """The text of a kernel, and the line of each of its statements in it, from 1."""
    printer = _PlacingPrinter(False)
    rows = printer.kernel(kernel, kernel.name).split("\n")
    lines: dict[Stmt, int] = {}
    for number, row in enumerate(rows):
        mark, marked, text = row.rpartition("\0")
        if marked:
            rows[number] = text
            lines[printer.marked[int(mark)]] = number + 1
    return "\n".join(rows), lines


def print_statement(stmt: Stmt) -> str:
    """A statement by itself, for messages: one line, nested bodies left out."""
    first = next(iter(_KernelPrinter(False).statement(stmt, "")))
    return first.removesuffix(" {")


def print_expr(expr: Expr) -> str:
    """An expression by itself."""
    return ExpressionPrinter(False).expr(expr)


def print_type(type_: TileType) -> str:
    """`f16[16, 64]`, with the layout between backquotes if there is one."""
    layout = f" `{type_.layout}`" if type_.layout is not None else ""
    return f"{type_.dtype}[{', '.join(map(str, type_.shape))}]{layout}"


class _KernelPrinter(ExpressionPrinter):
    """Text of one kernel."""

    def kernel(self, kernel: Kernel, name: str) -> str:
        lines = [self._head("kernel", name, kernel), *self._facts(kernel)]
        if kernel.config:
            lines.append("  config " + ", ".join(f"{n} = {v}" for n, v in kernel.config))
        for word in ("threads", "cluster"):
            if (count := getattr(kernel, word)) is not None:
                lines.append(f"  {word}({count})")
        if kernel.rasterization is not None:
            lines.append(f"  rasterize({self.expr(kernel.rasterization)})")
        lines += self._requirements(kernel)
        lines += [f"  memory {self.declaration(w)}" for w in kernel.workspaces]
        if kernel.grid:
            axes = (
                f"{self.scalar(a.var)} in {self.range(a.start, a.stop, a.step)}"
                f"{' reversed' if a.reversed else ''}"
                for a in kernel.grid
            )
            lines.append("  grid " + ", ".join(axes))
        lines += self.body(kernel.body, "  ")
        return "\n".join([*lines, "}", ""])

    def program(self, program: Program, names: dict[Kernel, str]) -> str:
        lines = [self._head("program", program.name, program), *self._facts(program)]
        lines += self._requirements(program)
        lines += [f"  memory {self.declaration(b)}" for b in program.buffers]
        for view in program.views:
            of = f"{self.memory(view.base)} + {self.expr(view.offset)}"
            lines.append(f"  view {of} as {self.declaration(view.memory)}")
        for call in program.calls:
            args = (self.memory(a) if isinstance(a, Memory) else self.expr(a) for a in call.args)
            when = "" if call.when is None else f" when {self.expr(call.when)}"
            lines.append(f"  call {names[call.kernel]}({', '.join(args)}){when}{self.at(call.loc)}")
        return "\n".join([*lines, "}", ""])

    def _head(self, word: str, name: str, owner: Kernel | Program) -> str:
        dims = ", ".join(d.name for d in owner.dims)
        params = ", ".join(self._param(p) for p in owner.params)
        return f"{word} {name}[{dims}]({params}){self.at(owner.loc)} {{"

    def _facts(self, owner: Kernel | Program) -> Iterator[str]:
        if owner.doc is not None:
            yield f"  doc {quoted(owner.doc)}"
        if owner.fixed:
            yield "  fixed " + ", ".join(f"{n} = {v}" for n, v in owner.fixed)
        for p in owner.packed:
            lanes = f" lanes {p.storage.lanes}" if p.storage.lanes > 1 else ""
            shape = self.exprs(p.shape)
            yield f"  packed {p.name}: {p.dtype}[{shape}] `{p.storage.layout}`{lanes}"

    def _requirements(self, owner: Kernel | Program) -> Iterator[str]:
        for r in owner.requires:
            yield f"  require {self.expr(r.condition)}, {quoted(r.text)}{self.at(r.loc)}"

    def _param(self, param: Param) -> str:
        if isinstance(param, Memory):
            return self.declaration(param)
        return f"{param.name}: {param.dtype}"

    def declaration(self, memory: Memory) -> str:
        words = [memory.role.value]
        if memory.place is not None:
            words.append(memory.place.value)
        words.append(f"{memory.dtype}[{self.exprs(memory.shape)}]")
        if memory.strides is not None:
            words.append(f"strides ({self.exprs(memory.strides)})")
        if memory.layout is not None:
            words.append(f"`{memory.layout}`")
        if memory.packed is not None:
            words.append(f"packed {memory.packed}")
        if memory.offset is not None:
            words.append(f"offset {memory.offset}")
        if memory.align is not None:
            words.append(f"align {memory.align}")
        return f"{self.memory(memory)}: {' '.join(words)}{self.at(memory.loc)}"

    def body(self, body: Body, indent: str) -> list[str]:
        return [line for stmt in body for line in self.statement(stmt, indent)]

    def statement(self, stmt: Stmt, indent: str) -> Iterator[str]:
        match stmt:
            case ins.For():
                yield from self._for(stmt, indent)
            case ins.While():
                yield from self._while(stmt, indent)
            case ins.If():
                yield from self._if(stmt, indent)
            case ins.WarpSpecialize():
                yield from self._warp_specialize(stmt, indent)
            case _:
                yield indent + self._instruction(stmt)

    def _for(self, stmt: ins.For, indent: str) -> Iterator[str]:
        options = "".join(
            f" {name}={value}"
            for name in ("stages", "unroll", "split", "atomic")
            if (value := getattr(stmt, name)) is not None
        )
        bounds = self.range(stmt.start, stmt.stop, stmt.step)
        carry = self._carry(stmt.carried)
        head = f"for {self.scalar(stmt.var)} in {bounds}{options}{carry}"
        inside = self._block(stmt.body, [c.yielded for c in stmt.carried], indent)
        results = self._loop_results(stmt.carried)
        yield f"{indent}{results}{head}{self.at(stmt.loc)} {{"
        yield from inside
        yield f"{indent}}}"

    def _while(self, stmt: ins.While, indent: str) -> Iterator[str]:
        carry = self._carry(stmt.carried)
        before = self.body(stmt.before, indent + "  ")
        condition = self.expr(stmt.condition)
        inside = self._block(stmt.body, [c.yielded for c in stmt.carried], indent)
        results = self._loop_results(stmt.carried)
        yield f"{indent}{results}while{carry}{self.at(stmt.loc)} {{"
        yield from before
        yield f"{indent}}} test {condition} do {{"
        yield from inside
        yield f"{indent}}}"

    def _if(self, stmt: ins.If, indent: str) -> Iterator[str]:
        condition = self.expr(stmt.condition)
        then = self._block(stmt.then, [j.then for j in stmt.joined], indent)
        otherwise = self._block(stmt.otherwise, [j.otherwise for j in stmt.joined], indent)
        results = ", ".join(self._typed(j.result) for j in stmt.joined)
        yield f"{indent}{results and results + ' = '}if {condition}{self.at(stmt.loc)} {{"
        yield from then
        if otherwise:
            yield f"{indent}}} else {{"
            yield from otherwise
        yield f"{indent}}}"

    def _warp_specialize(self, stmt: ins.WarpSpecialize, indent: str) -> Iterator[str]:
        options = "" if stmt.registers is None else f" registers={stmt.registers}"
        head = f"{indent}warp_specialize warps={stmt.warps}{options}{self.at(stmt.loc)} {{"
        yield from (head, *self._block(stmt.body, [], indent), f"{indent}}}")

    def _block(self, body: Body, handed: list[Use], indent: str) -> list[str]:
        lines = self.body(body, indent + "  ")
        if handed:
            lines.append(f"{indent}  yield {', '.join(map(self.use, handed))}")
        return lines

    def _carry(self, carried: tuple[Carried, ...]) -> str:
        inits = [self.use(c.init) for c in carried]
        inners = [self._typed(c.inner) for c in carried]
        pairs = ", ".join(f"{a} = {b}" for a, b in zip(inners, inits, strict=True))
        return f" carry ({pairs})" if pairs else ""

    def _loop_results(self, carried: tuple[Carried, ...]) -> str:
        texts = (
            self.name(c.result) if _same_type(c.result, c.inner) else self._typed(c.result)
            for c in carried
        )
        joined = ", ".join(texts)
        return f"{joined} = " if joined else ""

    def _instruction(self, stmt: Instruction) -> str:
        word = stmt.op if isinstance(stmt, ins.Unary | ins.Binary) else words.mnemonic(type(stmt))
        arguments: list[str] = []
        result: Value | None = None
        for f in fields(type(stmt)):
            value = getattr(stmt, f.name)
            if f.part is Part.RESULT:
                result = value
            elif f.optional and (f.part is Part.LOC or value == f.default):
                continue
            elif f.name == "op":
                word = value if word == value else f"{word} {value}"
            else:
                text = self._argument(f.part, value)
                flag = f.name if value is True else f"{f.name}={text}"
                required = not f.optional and (f.part is not Part.ATTRIBUTE or f.name == "text")
                positional = required or f.part is Part.VALUES
                arguments += [text if positional else flag] if text else []
        if isinstance(stmt, ins.Let):
            return f"let {self.scalar(stmt.var)} = {arguments[1]}{self.at(stmt.loc)}"
        text = " ".join([word, ", ".join(arguments)]) if arguments else word
        if result is not None:
            text = f"{self.tile(result)} = {text} : {print_type(result.type)}"
        return text + self.at(stmt.loc)

    def _argument(self, part: Part, value: object) -> str:
        match value:
            case Region():
                return self.region(value)
            case Memory():
                return self.declaration(value)
            case str():
                return quoted(value)
            case tuple() if part is Part.ATTRIBUTE:
                return f"({', '.join(map(str, value))})"
            case tuple():
                return ", ".join(self.use(v) for v in value)
            case int():
                return str(value)
            case Layout():
                return f"`{value}`"
            case _ if part is Part.VALUE or part is Part.EXPR or part is Part.SCALAR:
                return self.use(value)  # type: ignore[arg-type]
            case _:
                raise AssertionError(value)

    def _typed(self, name: Name) -> str:
        if isinstance(name, Value):
            return f"{self.tile(name)} : {print_type(name.type)}"
        return f"{name.name} : {name.dtype}"


class _PlacingPrinter(_KernelPrinter):
    """Marks the first line of every statement."""

    def __init__(self, locations: bool) -> None:
        super().__init__(locations)
        self.marked: list[Stmt] = []

    def statement(self, stmt: Stmt, indent: str) -> Iterator[str]:
        first, *rest = super().statement(stmt, indent)
        self.marked.append(stmt)
        yield f"{len(self.marked) - 1}\0{first}"
        yield from rest


def _same_type(a: Name, b: Name) -> bool:
    if isinstance(a, Value) or isinstance(b, Value):
        return isinstance(a, Value) and isinstance(b, Value) and a.type == b.type
    return a.dtype == b.dtype
