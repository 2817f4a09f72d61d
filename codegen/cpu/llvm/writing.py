"""The text of one function under construction: lines, names, and what they need of the module."""

from __future__ import annotations

from collections.abc import Iterable

from dslc.codegen.cpu.llvm.debug_lines import DebugLines, FunctionLines
from dslc.codegen.cpu.llvm.types import constant_text, suffix, type_text
from dslc.codegen.line_marks import are_wanted
from dslc.compiler.vector.types import Type
from dslc.compiler.vector.values import Constant, Operand, Register


class ModuleText:
    """Declarations and constant memory that functions of a module share, in the order of first use."""

    def __init__(self, is_x86: bool) -> None:
        self.is_x86 = is_x86
        self.declarations: dict[str, str] = {}
        self.tables: dict[bytes, str] = {}
        self.debug = DebugLines() if are_wanted() else None

    def declare(self, name: str, result: str, parameters: Iterable[str]) -> None:
        """An intrinsic that is called."""
        self.declarations[name] = f"declare {result} @{name}({', '.join(parameters)})"

    def table(self, content: bytes) -> str:
        """The name of constant memory with these bytes; equal ones are one."""
        return self.tables.setdefault(content, f"@table.{len(self.tables)}")

    def text(self) -> str:
        """What stands before the functions."""
        lines = []
        for content, name in self.tables.items():
            escaped = "".join(f"\\{byte:02X}" for byte in content)
            lines.append(
                f'{name} = private unnamed_addr constant [{len(content)} x i8] c"{escaped}", align 64'
            )
        lines += self.declarations.values()
        return "".join(f"{line}\n" for line in lines)


class FunctionText:
    """Lines of a function. A block ends with a branch; `label` is that of the one under way."""

    def __init__(self, module: ModuleText, name: str = "") -> None:
        self.module = module
        self.debug = FunctionLines(module.debug, name) if module.debug else None
        self.lines: list[str] = []
        self.entry: list[str] = []  # memory of the function's own, for its first block
        self.names: dict[Register, str] = {}
        self.label = "entry"
        self.ended = False
        self._count = 0

    def fresh(self) -> str:
        """A name that nothing has."""
        self._count += 1
        return f"%v{self._count}"

    def fresh_label(self, hint: str) -> str:
        """A label that no block has."""
        self._count += 1
        return f"{hint}{self._count}"

    def begin(self, label: str) -> None:
        """The block of that label begins."""
        self.lines.append(f"{label}:")
        self.label, self.ended = label, False

    def end(self, branch: str) -> None:
        """The block ends."""
        self.run(branch)
        self.ended = True

    def value(self, x: Operand) -> str:
        """An operand without its type."""
        return constant_text(x) if isinstance(x, Constant) else self.names[x]

    def typed(self, x: Operand) -> str:
        """An operand with its type."""
        return f"{type_text(x.type)} {self.value(x)}"

    def emit(self, text: str) -> str:
        """An instruction and the name of its result."""
        name = self.fresh()
        self.run(f"{name} = {text}")
        return name

    def run(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {text}{self.debug.suffix if self.debug else ''}")

    def call(self, name: str, result: str, *arguments: str, attributes: str = "") -> str:
        """The result of an intrinsic; arguments with their types, attributes between them taken off."""
        self._declare(name, result, arguments)
        return self.emit(f"call {result} @{name}({', '.join(arguments)}){attributes}")

    def call_void(self, name: str, *arguments: str) -> None:
        """An intrinsic without a result."""
        self._declare(name, "void", arguments)
        self.run(f"call void @{name}({', '.join(arguments)})")

    def _declare(self, name: str, result: str, arguments: Iterable[str]) -> None:
        self.module.declare(name, result, (_type_of(a) for a in arguments))

    def address(self, pointer: Operand, offset: Operand) -> str:
        """The name of a pointer so many bytes further on."""
        if isinstance(offset, Constant) and offset.values[0] == 0:
            return self.value(pointer)
        return self.emit(f"getelementptr i8, ptr {self.value(pointer)}, {self.typed(offset)}")

    def of(self, name: str, type_: Type, *xs: Operand) -> str:
        """An intrinsic over operands of one type that gives the same type."""
        return self.call(f"llvm.{name}.{suffix(type_)}", type_text(type_), *map(self.typed, xs))


def _type_of(argument: str) -> str:
    """The type before an argument's value: `<16 x float>` of `<16 x float> %x`."""
    if argument.startswith("<"):
        return argument[: argument.index(">") + 1]
    return argument.split(" ", 1)[0]
