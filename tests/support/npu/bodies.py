"""Bodies of cores as functions of MLIR's own dialects, for tools that know no aie."""

from __future__ import annotations

from collections.abc import Iterator

from dslc.compiler.mlir import Block, Operation, Type, generic, type_of


def functions(module: Operation) -> str:
    """A module with a function for each core, of what comes from around it and from FIFOs."""
    made = [
        _function(core, f"core_{number}")
        for number, core in enumerate(o for o in module.walk() if o.name == "aie.core")
    ]
    return generic(Operation("builtin.module", 1, regions=[[Block("", [], made)]]))


def _function(core: Operation, name: str) -> Operation:
    body, given = [], {}
    for op in core.body:
        kept = _kept(op, given)
        if kept is not None:
            body.append(kept)
    body.append(Operation("func.return", core.line))
    defined = set(_defined(body))
    for op in (o for top in body for o in top.walk()):
        for value, kind in zip(op.operands, op.types, strict=True):
            if value not in defined:
                given.setdefault(value, kind)
    text = ", ".join(kind.text for kind in given.values())
    attributes = {"sym_name": name, "function_type": type_of(f"({text}) -> ()")}
    entry = Block("", list(given.items()), body)
    return Operation("func.func", core.line, attributes=attributes, regions=[[entry]])


def _kept(op: Operation, given: dict[str, Type]) -> Operation | None:
    """An operation without what is aie's; the values that such give are arguments."""
    if op.name.startswith("aie."):
        for value, kind in zip(op.results, op.result_types, strict=True):
            if kind.kind in ("memref", "vector"):
                given[value] = kind
        return None
    regions = [
        [
            Block(b.label, b.arguments, [k for o in b.operations if (k := _kept(o, given))])
            for b in region
        ]
        for region in op.regions
    ]
    return Operation(
        op.name, op.line, op.results, op.operands, op.attributes, op.types, op.result_types, regions
    )


def _defined(body: list[Operation]) -> Iterator[str]:
    for op in (o for top in body for o in top.walk()):
        yield from op.results
        for region in op.regions:
            for block in region:
                yield from (name for name, _ in block.arguments)
