"""Debug locations of LLVM's text, where line marks are asked for: `.loc` then stands in the assembly.

A function has one location of each line of the source that its instructions come from.
"""

from __future__ import annotations

from urllib.parse import quote

from dslc.compiler.diagnostics import Loc

_FIRST = 2  # nodes 0 and 1 are the printer's
_FILE, _UNIT, _TYPE = _FIRST, _FIRST + 1, _FIRST + 2
_UNIT_TEXT = (
    f"distinct !DICompileUnit(language: DW_LANG_C99, file: !{_FILE}, "
    'producer: "dslc", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)'
)


class DebugLines:
    """The metadata of a module."""

    def __init__(self) -> None:
        self._nodes = ['!DIFile(filename: "dslc", directory: "")', _UNIT_TEXT]
        self._nodes.append("!DISubroutineType(types: null)")
        self._flags = self.node('!{i32 2, !"Debug Info Version", i32 3}')

    def node(self, text: str) -> int:
        """The number of a new node."""
        self._nodes.append(text)
        return _FIRST + len(self._nodes) - 1

    def text(self) -> str:
        """All nodes."""
        lines = [f"!{_FIRST + i} = {text}" for i, text in enumerate(self._nodes)]
        heads = [f"!llvm.dbg.cu = !{{!{_UNIT}}}", f"!llvm.module.flags = !{{!{self._flags}}}"]
        return "\n".join([*heads, *lines, ""])


class FunctionLines:
    """The locations of one function; `suffix` is that of the statement under way."""

    def __init__(self, module: DebugLines, name: str) -> None:
        self._module = module
        self._scope = module.node(
            f'distinct !DISubprogram(name: "{quote(name)}", scope: !{_FILE}, file: !{_FILE}, '
            f"line: 0, type: !{_TYPE}, spFlags: DISPFlagDefinition | DISPFlagOptimized, "
            f"unit: !{_UNIT})"
        )
        self._scopes: dict[str, int] = {}
        self._suffixes: dict[tuple[str, int], str] = {}
        self.of_function = f"!dbg !{self._scope}"
        nowhere = module.node(f"!DILocation(line: 0, column: 0, scope: !{self._scope})")
        self.suffix = f", !dbg !{nowhere}"

    def at(self, loc: Loc | None) -> None:
        """A statement of that place begins; where none is known it is that of the one before."""
        if loc is None:
            return
        key = (loc.file, loc.line)
        if key not in self._suffixes:
            node = self._module.node(
                f"!DILocation(line: {loc.line}, column: 0, scope: !{self._scope_of(loc.file)})"
            )
            self._suffixes[key] = f", !dbg !{node}"
        self.suffix = self._suffixes[key]

    def _scope_of(self, file: str) -> int:
        if file not in self._scopes:
            name = self._module.node(f'!DIFile(filename: "{quote(file)}", directory: "")')
            self._scopes[file] = self._module.node(
                f"!DILexicalBlockFile(scope: !{self._scope}, file: !{name}, discriminator: 0)"
            )
        return self._scopes[file]
