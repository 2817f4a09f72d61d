"""Loops of cores as C, for modules that compute much: what waits for nobody, by the host's compiler.

A loop without waits is a function of the memories and indices that it takes from around it. It checks
every access as NumPy's way does, and stops at the first that is not allowed. Loops with operations that
have no words here, and hosts without a C compiler, stay with NumPy; sums of products may then differ in
the last place.
"""

from __future__ import annotations

from typing import Any

from dslc.compiler.mlir import Dense, Number, Type
from dslc.runtime.aie_simulator.cores.native_words import (
    BINARY,
    INDEX,
    MATH,
    ORDER,
    REDUCE,
    STORED,
    C,
)
from dslc.runtime.aie_simulator.reader import Operation


class Unknown(Exception):
    """An operation without words here."""


_CONVERSIONS = (
    "extf",
    "truncf",
    "index_cast",
    "index_castui",
    "extsi",
    "extui",
    "trunci",
    "sitofp",
    "uitofp",
    "fptosi",
    "fptoui",
    "bitcast",
)
Kind = tuple[str, tuple[int, ...]]


def kind_of(kind: Type) -> Kind:
    """Element type and shape of a type."""
    return kind.element, kind.shape


def _size(shape: tuple[int, ...]) -> int:
    total = 1
    for n in shape:
        total *= n
    return total


class Loop:
    """One loop as the body of a C function.

    `memories` and `indices` are the SSA names that it takes, in the order of its arguments; `constants`
    are those of the core. Lines are counted from the loop's own, so that equal loops are one function.
    """

    def __init__(self, op: Operation, constants: dict[str, Operation]) -> None:
        self.memories: list[tuple[str, str]] = []
        self.indices: list[str] = []
        self.line = op.line
        self._constants = constants
        self._kinds: dict[str, Kind] = {}
        self._names: dict[str, str] = {}
        self._head: list[str] = []
        self._lines: list[str] = []
        if op.results:
            raise Unknown
        self._for(op)

    def text(self, name: str) -> str:
        """The function."""
        body = "\n".join("  " + line for line in (*self._head, *self._lines))
        return f"int {name}(memory *M, int64_t *I, int64_t *E) {{\n{body}\n  return 0;\n}}\n"

    def _line(self, text: str) -> None:
        self._lines.append(text)

    def _define(self, name: str, kind: Kind) -> str:
        if kind[0] not in C:
            raise Unknown
        own = f"v{len(self._names)}"
        self._names[name], self._kinds[name] = own, kind
        size = f"[{_size(kind[1])}]" if kind[1] else ""
        self._line(f"{C[kind[0]]} {own}{size};")
        return own

    def _index(self, name: str) -> str:
        """An index by its name, from around the loop where it is not defined inside."""
        if name not in self._names and name not in self._constants:
            self._names[name] = f"I[{len(self.indices)}]"
            self._kinds[name] = ("index", ())
            self.indices.append(name)
        return self._read(name)

    def _read(self, name: str) -> str:
        if name in self._names:
            return self._names[name]
        if name not in self._constants:
            raise Unknown
        own = self._constants[name]
        kind, value = kind_of(own.type), own.attributes["value"]
        if kind[0] not in C:
            raise Unknown
        made = f"v{len(self._names)}"
        self._names[name], self._kinds[name] = made, kind
        ctype = f"static const {C[kind[0]]}"
        if not isinstance(value, Dense):
            number = value.value if isinstance(value, Number) else value
            self._head.append(f"{ctype} {made} = {_number(number, kind[0])};")
        else:
            numbers = [_number(v, kind[0]) for v in value.values]
            values = ", ".join(numbers * _size(kind[1]) if value.splat else numbers)
            self._head.append(f"{ctype} {made}[{_size(kind[1])}] = {{{values}}};")
        return made

    def _memory(self, name: str, kind: str) -> int:
        if (name, kind) not in self.memories:
            if any(n == name for n, _ in self.memories) or kind not in STORED:
                raise Unknown
            self.memories.append((name, kind))
        return self.memories.index((name, kind))

    # Operations

    def _body(self, region: list[Operation], yields: list[str]) -> None:
        for op in region:
            self._operation(op, yields)

    def _operation(self, op: Operation, yields: list[str]) -> None:
        dialect, _, word = op.name.partition(".")
        if op.name == "scf.for":
            self._for(op)
        elif op.name == "scf.yield":
            self._yield(op, yields)
        elif op.name == "arith.constant":
            self._constants = {**self._constants, op.results[0]: op}
        elif op.name.endswith(".load"):
            self._load(op)
        elif op.name.endswith(".store"):
            self._store(op)
        elif dialect in ("arith", "math"):
            self._arith(op, word)
        elif dialect == "vector":
            self._vector(op, word)
        else:
            raise Unknown

    def _for(self, op: Operation) -> None:
        start, stop, step = (self._index(n) for n in op.operands[:3])
        (index, _), *carried = op.regions[0][0].arguments
        inners = []
        for (inner, kind), given in zip(carried, op.operands[3:], strict=True):
            source = self._read(given)
            inner_name = self._define(inner, kind_of(kind))
            self._copy(inner_name, source, kind.shape)
            inners.append(inner)
        counter = f"v{len(self._names)}"
        self._names[index], self._kinds[index] = counter, ("index", ())
        head = f"for (int64_t {counter} = {start}; {counter} < {stop}; {counter} += {step}) {{"
        self._line(head)
        self._body(op.body, inners)
        self._line("}")
        for result, inner in zip(op.results, inners, strict=True):
            self._names[result], self._kinds[result] = self._names[inner], self._kinds[inner]

    def _yield(self, op: Operation, yields: list[str]) -> None:
        # All are read before any is written: they may change places.
        copies = []
        for name, target in zip(op.operands, yields, strict=True):
            source, kind = self._read(name), self._kinds[target]
            if len(op.operands) > 1 and name in yields:
                fresh = self._define(f"{name}!{len(self._names)}", kind)
                self._copy(fresh, source, kind[1])
                source = fresh
            copies.append((self._names[target], source, kind[1]))
        for target_name, source, shape in copies:
            self._copy(target_name, source, shape)

    def _copy(self, target: str, source: str, shape: tuple[int, ...]) -> None:
        self._line(
            f"memcpy({target}, {source}, sizeof {target});" if shape else f"{target} = {source};"
        )

    def _each(self, name: str, kind: Kind, text: str, operands: list[str]) -> None:
        """An elementwise expression; scalars among the operands serve every lane."""
        wide = [self._read(x) + ("[i]" if self._kinds[x][1] else "") for x in operands]
        result = self._define(name, kind)
        value = text.format(*wide)
        if kind[1]:
            self._line(f"for (int i = 0; i < {_size(kind[1])}; i++) {result}[i] = {value};")
        else:
            self._line(f"{result} = {value};")

    def _load(self, op: Operation) -> None:
        memory, place = _one_index(op.operands)
        number = self._memory(memory, op.types[0].element)
        kind = kind_of(op.type)
        at, count = self._index(place), _size(kind[1])
        self._line(f"READ({number}, {at}, {count}, {op.line - self.line});")
        result = self._define(op.results[0], kind)
        source = f"(({STORED[kind[0]]} *)M[{number}].data)[{at}{' + i' if kind[1] else ''}]"
        source = f"wide({source})" if kind[0] == "bf16" else source
        if kind[1]:
            self._line(f"for (int i = 0; i < {count}; i++) {result}[i] = {source};")
        else:
            self._line(f"{result} = {source};")

    def _store(self, op: Operation) -> None:
        value, *access = op.operands
        memory, place = _one_index(access)
        kind = op.types[1].element
        number = self._memory(memory, kind)
        source, at = self._read(value), self._index(place)
        shape = self._kinds[value][1]
        self._line(f"WRITE({number}, {at}, {_size(shape)}, {op.line - self.line});")
        source += "[i]" if shape else ""
        source = f"narrow({source})" if kind == "bf16" else source
        target = f"(({STORED[kind]} *)M[{number}].data)[{at}{' + i' if shape else ''}]"
        loop = f"for (int i = 0; i < {_size(shape)}; i++) " if shape else ""
        self._line(f"{loop}{target} = {source};")

    def _arith(self, op: Operation, word: str) -> None:
        operands = op.operands
        (result,) = op.results
        kind = kind_of(op.type)
        if word == "select":
            self._each(result, kind, "{0} ? {1} : {2}", operands)
            return
        if word in ("cmpf", "cmpi"):
            self._compare(op, operands, kind_of(op.types[0]))
            return
        if word in _CONVERSIONS:
            self._convert(result, word, operands, kind_of(op.types[0]), kind)
            return
        if kind[0] == "index":
            for name in operands:
                self._index(name)
        table = {**BINARY, **MATH, "negf": "-{0}", **(INDEX if kind[0] == "index" else {})}
        if word not in table or (kind[0] == "i1" and word not in ("andi", "ori", "xori")):
            raise Unknown
        value = table[word]
        self._each(result, kind, f"rounded({value})" if kind[0] == "bf16" else value, operands)

    def _compare(self, op: Operation, operands: list[str], kind: Kind) -> None:
        predicate = op.attributes["predicate"]
        if not isinstance(predicate, str):
            raise Unknown
        order = predicate if predicate in ORDER else predicate[1:]
        unsigned = predicate[0] == "u" and predicate != "une" and kind[0] != "index"
        if order not in ORDER or unsigned:  # of floats: true of NaN as well
            raise Unknown
        if kind[0] == "index":
            for name in operands:
                self._index(name)
        self._each(op.results[0], ("i1", kind[1]), f"{{0}} {ORDER[order]} {{1}}", operands)

    def _convert(
        self, result: str, word: str, operands: list[str], before: Kind, after: Kind
    ) -> None:
        if before[0] == "index":
            self._index(operands[0])
        if word in ("extf", "index_cast") or (word == "extsi" and before[0] != "i1"):
            self._each(result, after, "{0}", operands)
        elif word in ("truncf", "sitofp") and after[0] in ("f32", "bf16"):
            narrow = "rounded({0})" if after[0] == "bf16" else "{0}"
            self._each(result, after, narrow, operands)
        else:
            raise Unknown

    def _vector(self, op: Operation, word: str) -> None:
        (result,) = op.results
        if word == "contract":
            self._contract(op, result)
            return
        operands, kind = op.operands, kind_of(op.type)
        if word == "broadcast" and not op.types[0].shape:
            self._each(result, kind, "{0}", operands)
        elif word == "shape_cast":
            source = self._read(operands[0])
            self._names[result], self._kinds[result] = source, kind
        elif word == "reduction":
            self._reduce(op, result, operands, kind)
        else:
            raise Unknown

    def _reduce(self, op: Operation, result: str, operands: list[str], kind: Kind) -> None:
        word = op.text("kind")
        if word not in REDUCE or len(operands) != 1 or kind[0] != "f32":
            raise Unknown
        source = self._read(operands[0])
        size = _size(self._kinds[operands[0]][1])
        reduced = self._define(result, kind)
        step = REDUCE[word].format(f"{source}[i]")
        self._line(f"{{ float t = {source}[0]; for (int i = 1; i < {size}; i++) t = {step};")
        self._line(f"  {reduced} = t; }}")

    def _contract(self, op: Operation, result: str) -> None:
        a, b, c = op.operands
        kind = kind_of(op.type)
        left, right, start = (self._read(x) for x in (a, b, c))
        (m, k), n = self._kinds[a][1], self._kinds[b][1][1]
        element = C[kind[0]]
        sums = self._define(result, kind)
        self._line(f"for (int i = 0; i < {m}; i++) {{ {element} t[{n}] = {{0}};")
        self._line(f"  for (int k = 0; k < {k}; k++) for (int j = 0; j < {n}; j++)")
        self._line(f"    t[j] += ({element}){left}[i * {k} + k] * {right}[k * {n} + j];")
        at = f"[i * {n} + j]"
        self._line(f"  for (int j = 0; j < {n}; j++) {sums}{at} = {start}{at} + t[j]; }}")


def _one_index(operands: list[str]) -> tuple[str, str]:
    """A memory and the one index into it."""
    if len(operands) != 2:
        raise Unknown
    return operands[0], operands[1]


def _number(value: Any, element: str) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if element not in ("f32", "bf16"):
        return f"{value}LL"
    if isinstance(value, str):
        value = int(value, 16)
    if isinstance(value, int) and value:
        bits = value << (16 if element == "bf16" else 0)
        named = {0x7F800000: "INFINITY", 0xFF800000: "-INFINITY", 0x7FC00000: "NAN"}
        if bits not in named:
            raise Unknown
        return named[bits]
    return f"{float(value)!r}f"


def translated(op: Operation, constants: dict[str, Operation]) -> Loop | None:
    """The loop as C, None where it has no words."""
    try:
        return Loop(op, constants)
    except (Unknown, ValueError):
        return None
