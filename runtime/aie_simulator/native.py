"""Loops of cores as C, for modules that compute much: what waits for nobody, by the host's compiler.

A loop without waits is a function of the memories and indices that it takes from around it. It checks
every access as NumPy's way does, and stops at the first that is not allowed. Loops with operations that
have no words here, and hosts without a C compiler, stay with NumPy; sums of products may then differ in
the last place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dslc.runtime.aie_simulator.native_words import (
    BINARY,
    INDEX,
    MATH,
    ORDER,
    REDUCE,
    STORED,
    C,
)
from dslc.runtime.aie_simulator.reader import Operation

_VALUE = r"%[\w$.]+(?:#\d+)?"
_FOR = (
    r"(?P<var>%[\w$.]+) = (?P<start>%[\w#]+) to (?P<stop>%[\w#]+) step (?P<step>%[\w#]+)"
    r"(?:\s+iter_args\((?P<args>.*?)\)\s*->\s*\((?P<types>.*)\))?"
)


class Unknown(Exception):
    """An operation without words here."""


Kind = tuple[str, tuple[int, ...]]


def kind_of(text: str) -> Kind:
    """Element type and shape of a type."""
    text = text.strip()
    if found := re.fullmatch(r"vector<([\dx]+)x(\w+)>", text):
        return found[2], tuple(int(n) for n in found[1].split("x"))
    return text, ()


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
        made = f"v{len(self._names)}"
        self._names[name], self._kinds[name] = made, kind
        size = f"[{_size(kind[1])}]" if kind[1] else ""
        self._line(f"{C[kind[0]]} {made}{size};")
        return made

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
        own = self._constants[name].rest.strip()
        text, _, kind_text = own.rpartition(" : ")
        kind = kind_of(kind_text)
        if kind[0] not in C:
            raise Unknown
        made = f"v{len(self._names)}"
        self._names[name], self._kinds[name] = made, kind
        ctype = f"static const {C[kind[0]]}"
        if not kind[1]:
            self._head.append(f"{ctype} {made} = {_number(text, kind[0])};")
        else:
            inner = text.removeprefix("dense<").removesuffix(">")
            parts = (
                inner.strip("[]").split(",") if inner.startswith("[") else [inner] * _size(kind[1])
            )
            values = ", ".join(_number(p, kind[0]) for p in parts)
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
        found = op.match(_FOR)
        start, stop, step = (self._index(found[n]) for n in ("start", "stop", "step"))
        pairs = re.findall(rf"(%[\w$.]+) = ({_VALUE})", found["args"] or "")
        types = re.findall(r"vector<[^>]*>|\w+", found["types"] or "")
        inners = []
        for (inner, given), text in zip(pairs, types, strict=True):
            source = self._read(given)
            made = self._define(inner, kind_of(text))
            self._copy(made, source, kind_of(text)[1])
            inners.append(inner)
        counter = f"v{len(self._names)}"
        self._names[found["var"]], self._kinds[found["var"]] = counter, ("index", ())
        head = f"for (int64_t {counter} = {start}; {counter} < {stop}; {counter} += {step}) {{"
        self._line(head)
        self._body(op.regions[0], inners)
        self._line("}")
        for result, inner in zip(op.results, inners, strict=True):
            self._names[result], self._kinds[result] = self._names[inner], self._kinds[inner]

    def _yield(self, op: Operation, yields: list[str]) -> None:
        given = re.findall(_VALUE, op.rest.split(" : ")[0])
        # All are read before any is written: they may change places.
        made = []
        for name, target in zip(given, yields, strict=True):
            source, kind = self._read(name), self._kinds[target]
            if len(given) > 1 and name in yields:
                fresh = self._define(f"{name}!{len(self._names)}", kind)
                self._copy(fresh, source, kind[1])
                source = fresh
            made.append((self._names[target], source, kind[1]))
        for target_name, source, shape in made:
            self._copy(target_name, source, shape)

    def _copy(self, target: str, source: str, shape: tuple[int, ...]) -> None:
        self._line(
            f"memcpy({target}, {source}, sizeof {target});" if shape else f"{target} = {source};"
        )

    def _each(self, name: str, kind: Kind, text: str, operands: list[str]) -> None:
        """An elementwise expression; scalars among the operands serve every lane."""
        wide = [self._read(x) + ("[i]" if self._kinds[x][1] else "") for x in operands]
        made = self._define(name, kind)
        value = text.format(*wide)
        if kind[1]:
            self._line(f"for (int i = 0; i < {_size(kind[1])}; i++) {made}[i] = {value};")
        else:
            self._line(f"{made} = {value};")

    def _load(self, op: Operation) -> None:
        memory, place = re.findall(_VALUE, op.rest.split(" : ")[0])
        number = self._memory(memory, _element(op))
        kind = (
            (_element(op), ()) if op.name == "memref.load" else kind_of(op.rest.rpartition(", ")[2])
        )
        at, count = self._index(place), _size(kind[1])
        self._line(f"READ({number}, {at}, {count}, {op.line - self.line});")
        made = self._define(op.results[0], kind)
        source = f"(({STORED[kind[0]]} *)M[{number}].data)[{at}{' + i' if kind[1] else ''}]"
        source = f"wide({source})" if kind[0] == "bf16" else source
        if kind[1]:
            self._line(f"for (int i = 0; i < {count}; i++) {made}[i] = {source};")
        else:
            self._line(f"{made} = {source};")

    def _store(self, op: Operation) -> None:
        value, memory, place = re.findall(_VALUE, op.rest.split(" : ")[0])
        kind = _element(op)
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
        given, _, text = op.rest.rpartition(" : ")
        operands = re.findall(_VALUE, given)
        (result,) = op.results
        if word == "select":
            self._each(result, kind_of(text.split(", ")[-1]), "{0} ? {1} : {2}", operands)
            return
        if word in ("cmpf", "cmpi"):
            self._compare(op, word, operands, kind_of(text))
            return
        if " to " in text:
            self._convert(result, word, operands, *(kind_of(t) for t in text.split(" to ")))
            return
        kind = kind_of(text)
        if kind[0] == "index":
            for name in operands:
                self._index(name)
        table = {**BINARY, **MATH, "negf": "-{0}", **(INDEX if kind[0] == "index" else {})}
        if word not in table or (kind[0] == "i1" and word not in ("andi", "ori", "xori")):
            raise Unknown
        value = table[word]
        self._each(result, kind, f"rounded({value})" if kind[0] == "bf16" else value, operands)

    def _compare(self, op: Operation, word: str, operands: list[str], kind: Kind) -> None:
        predicate = op.rest.strip().split(",")[0].strip()
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
        given, _, text = op.rest.rpartition(" : ")
        operands = re.findall(_VALUE, given)
        if word == "broadcast":
            self._each(result, kind_of(text.split(" to ")[1]), "{0}", operands)
        elif word == "shape_cast":
            source = self._read(operands[0])
            self._names[result], self._kinds[result] = source, kind_of(text.split(" to ")[1])
        elif word == "reduction":
            self._reduce(op, result, operands, kind_of(text.split(" into ")[-1]))
        else:
            raise Unknown

    def _reduce(self, op: Operation, result: str, operands: list[str], kind: Kind) -> None:
        found = re.search(r"<(\w+)>", op.rest)
        if found is None or found[1] not in REDUCE or len(operands) != 1 or kind[0] != "f32":
            raise Unknown
        source = self._read(operands[0])
        size = _size(self._kinds[operands[0]][1])
        made = self._define(result, kind)
        step = REDUCE[found[1]].format(f"{source}[i]")
        self._line(f"{{ float t = {source}[0]; for (int i = 1; i < {size}; i++) t = {step};")
        self._line(f"  {made} = t; }}")

    def _contract(self, op: Operation, result: str) -> None:
        a, b, c = re.findall(_VALUE, op.rest.partition("}")[2])[:3]
        kind = kind_of(op.rest.rpartition(" into ")[2])
        left, right, start = (self._read(x) for x in (a, b, c))
        (m, k), n = self._kinds[a][1], self._kinds[b][1][1]
        element = C[kind[0]]
        made = self._define(result, kind)
        self._line(f"for (int i = 0; i < {m}; i++) {{ {element} t[{n}] = {{0}};")
        self._line(f"  for (int k = 0; k < {k}; k++) for (int j = 0; j < {n}; j++)")
        self._line(f"    t[j] += ({element}){left}[i * {k} + k] * {right}[k * {n} + j];")
        at = f"[i * {n} + j]"
        self._line(f"  for (int j = 0; j < {n}; j++) {made}{at} = {start}{at} + t[j]; }}")


def _element(op: Operation) -> str:
    """The element type of an access's memref."""
    found = re.search(r"memref<\d+x(\w+)>", op.rest)
    if found is None:
        raise Unknown
    return found[1]


def _number(text: str, element: str) -> str:
    text = text.strip()
    if text in ("true", "false"):
        return str(int(text == "true"))
    if text.startswith("0x"):
        bits = int(text, 16) << (16 if element == "bf16" else 0)
        named = {0x7F800000: "INFINITY", 0xFF800000: "-INFINITY", 0x7FC00000: "NAN"}
        if bits not in named:
            raise Unknown
        return named[bits]
    return f"{text}f" if element in ("f32", "bf16") else f"{text}LL"


def translated(op: Operation, constants: dict[str, Operation]) -> Loop | None:
    """The loop as C, None where it has no words."""
    try:
        return Loop(op, constants)
    except (Unknown, ValueError):
        return None


Call = Callable[[Any, Any, Any], int]
