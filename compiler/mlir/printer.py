"""The generic form of operations, which every MLIR tool reads without knowing their dialects."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from dslc.compiler.mlir.attributes import (
    UNIT,
    Dense,
    Integers,
    Number,
    Opaque,
    Symbol,
    Type,
    Use,
    Word,
)
from dslc.compiler.mlir.generic_names import DYNAMIC, LISTS, has_lists
from dslc.compiler.mlir.operations import ENUMERATIONS, FLOAT_PREDICATES, Block, Operation

# What upstream dialects call the attributes of bare words, as they print them.
_WORDS = {
    "fastmath": "#arith.fastmath{}",
    "overflowFlags": "#arith.overflow{}",
    "kind": "#vector.kind<{}>",
}


def generic(operation: Operation) -> str:
    """The text of an operation with all that is inside."""
    return "\n".join(_lines(operation, 0)) + "\n"


def _lines(op: Operation, depth: int) -> Iterator[str]:
    pad = "  " * depth
    results = f"{', '.join(_grouped(op.results))} = " if op.results else ""
    head = f'{pad}{results}"{op.name}"({", ".join(op.operands)})'
    if op.successors:
        head += f"[{', '.join(label for label, _ in op.successors)}]"
    given = ", ".join(t.text for t in op.types)
    back = ", ".join(t.text for t in op.result_types)
    tail = f" : ({given}) -> ({back})" if len(op.result_types) != 1 else f" : ({given}) -> {back}"
    tail = f"{_dictionary(op)}{tail}"
    if not op.regions:
        yield head + tail
        return
    yield head + " ({"
    for number, region in enumerate(op.regions):
        if number:
            yield pad + "}, {"
        for block in region:
            yield from _block(block, depth, first=block is region[0])
    yield pad + "})" + tail


def _block(block: Block, depth: int, *, first: bool) -> Iterator[str]:
    if block.arguments or (block.label and not first):
        arguments = ", ".join(f"{name}: {kind}" for name, kind in block.arguments)
        yield "  " * depth + f"{block.label or '^entry'}({arguments}):"
    for inner in block.operations:
        yield from _lines(inner, depth + 1)


def _grouped(names: tuple[str, ...]) -> Iterator[str]:
    """`%x#0, %x#1` are defined as %x:2."""
    counts: dict[str, int] = {}
    for name in names:
        root = name.partition("#")[0]
        counts[root] = counts.get(root, 0) + 1
    for root, count in counts.items():
        yield f"{root}:{count}" if f"{root}#0" in names else root


def _dictionary(op: Operation) -> str:
    """The attributes by name; MLIR takes those that belong to the operation from there."""
    lists = has_lists(op)
    by_name = {
        f"static_{name}" if lists and name in LISTS else name: _attribute(op, name, value)
        for name, value in op.attributes.items()
        if not isinstance(value, Use)
    }
    if "operandSegmentSizes" not in by_name and (segments := _segments(op)):
        by_name["operandSegmentSizes"] = f"array<i32: {', '.join(map(str, segments))}>"
    parts = {f'"{n}"' if "." in n else n: v for n, v in sorted(by_name.items())}
    texts = [n if v == "unit" else f"{n} = {v}" for n, v in parts.items()]
    return f" {{{', '.join(texts)}}}" if texts else ""


def _segments(op: Operation) -> list[int]:
    """How many operands each group has, where an operation has several of them."""
    if op.name == "aie.objectfifo":
        return []
    if op.name in ("aiex.npu.dma_memcpy_nd", "memref.subview"):
        lists = [op.attributes.get(n, []) for n in ("offsets", "sizes", "strides")]
        return [1, *(sum(isinstance(e, Use) for e in entries) for entries in lists)]
    if op.name == "cf.cond_br":
        return [1, *(len(given) for _, given in op.successors)]
    return []


def _attribute(op: Operation, name: str, value: Any) -> str:
    if isinstance(value, Word) and value != UNIT:
        if name == "predicate":
            cases = FLOAT_PREDICATES if op.name == "arith.cmpf" else ENUMERATIONS[name]
            return f"{cases.index(value)} : i64"
        if name in _WORDS and op.name.partition(".")[0] in ("arith", "math", "vector"):
            return _WORDS[name].format(value)
        if value in ENUMERATIONS.get(name, ()):
            return f"{ENUMERATIONS[name].index(value)} : i32"
    if name == "sym_name":
        return f'"{value}"'
    if name == "iterator_types" and op.name == "vector.contract":
        kinds = (k.value if isinstance(k, Opaque) else k for k in value)
        return f"[{', '.join(f'#vector.iterator_type<{kind}>' for kind in kinds)}]"
    if name in ("offsets", "sizes", "strides", "position", "permutation") and isinstance(
        value, list
    ):
        numbers = (DYNAMIC if isinstance(e, Use) else _plain(e) for e in value)
        return f"array<i64: {', '.join(map(str, numbers))}>" if value else "array<i64>"
    return _value(value)


def _plain(entry: Any) -> Any:
    return entry.value if isinstance(entry, Number) else entry


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case Number():
            return _number(value)
        case Symbol():
            return "::".join(f"@{part}" for part in value.split("::"))
        case Word():
            return "unit" if value == UNIT else f'"{value}"'
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case Type():
            return value.text
        case list():
            return f"[{', '.join(_value(v) for v in value)}]"
        case dict():
            return f"{{{', '.join(f'{k} = {_value(v)}' for k, v in value.items())}}}"
        case Integers():
            inner = f": {', '.join(map(str, value.values))}" if value.values else ""
            return f"array<{value.type}{inner}>"
        case Dense():
            return f"dense<{_elements(value)}> : {value.type.text}"
        case Opaque():
            return value.text or f"#{value.name}{_body(value.value)}"
    return str(value)


def _number(number: Number) -> str:
    kind = f" : {number.type}" if number.type else ""
    if isinstance(number.value, float):
        return (
            f"{number.value!r}{kind}" if "." in repr(number.value) else f"{number.value:.17e}{kind}"
        )
    if number.type in ("f32", "bf16", "f16", "f64"):
        digits = {"f32": 8, "f64": 16}.get(number.type, 4)
        return f"0x{number.value:0{digits}X}{kind}"
    return f"{number.value}{kind}"


def _elements(dense: Dense) -> str:
    texts = [
        str(v).lower() if isinstance(v, bool) else v if isinstance(v, str) else _float(v)
        for v in dense.values
    ]
    if dense.splat:
        return texts[0] if texts else ""
    shape = dense.type.shape
    for size in shape[:0:-1]:
        texts = [f"[{', '.join(texts[n : n + size])}]" for n in range(0, len(texts), size)]
    return f"[{', '.join(texts)}]"


def _float(value: Any) -> str:
    if isinstance(value, float):
        (bits,) = struct.unpack("<f", struct.pack("<f", value))
        return f"{value!r}" if bits == value and "." in repr(value) else f"{value:.17e}"
    return str(value)


def _body(value: Any) -> str:
    """What a dialect's attribute holds, as it stands in texts."""
    if isinstance(value, dict):
        return f"<{', '.join(f'{k} = {_value(v)}' for k, v in value.items())}>"
    if isinstance(value, list):
        return f"<[{', '.join(_body(v) if isinstance(v, dict) else _value(v) for v in value)}]>"
    return f"<{_value(value)}>" if value is not None else ""
