"""A text as operations."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from dslc.compiler.mlir.dialect_forms import AIE, AIEX
from dslc.compiler.mlir.flow_forms import FLOW
from dslc.compiler.mlir.forms import compiled
from dslc.compiler.mlir.operations import Block, MlirError, Operation
from dslc.compiler.mlir.parser import Form, Parser
from dslc.compiler.mlir.special_forms import SPECIAL
from dslc.compiler.mlir.trace_forms import TRACES
from dslc.compiler.mlir.upstream_forms import UPSTREAM


@functools.cache
def forms() -> Mapping[str, Form]:
    """The custom form of each operation that has one."""
    tables = {**AIE, **AIEX, **UPSTREAM}
    return {name: compiled(form) for name, form in tables.items()} | SPECIAL | FLOW | TRACES


@functools.lru_cache(4)
def parse(text: str) -> Operation:
    """The module of a text; MlirError where it is none. The last few texts are kept: change nothing."""
    operations = Parser(text, forms()).top_level()
    if len(operations) == 1 and operations[0].name == "builtin.module":
        return operations[0]
    if any(o.name == "builtin.module" for o in operations) or not operations:
        raise MlirError("a text is one module", operations[1].line if len(operations) > 1 else 1)
    module = Operation("builtin.module", 1)  # MLIR's own reader puts one around what stands alone
    module.regions.append([Block("", [], operations)])
    return module
