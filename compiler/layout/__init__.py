"""The layout algebra."""

from dslc.compiler.layout.composition import broadcast, compose, concat, product
from dslc.compiler.layout.layout import Layout
from dslc.compiler.layout.parsing import (
    LAYOUT_FUNCTIONS,
    call_layout_function,
    chain_layout,
    parse_layout,
)
from dslc.compiler.layout.primitives import (
    column_local,
    column_spatial,
    local,
    modes,
    replicate,
    spatial,
)
from dslc.compiler.layout.swizzling import swizzle

__all__ = [
    "LAYOUT_FUNCTIONS",
    "Layout",
    "broadcast",
    "call_layout_function",
    "chain_layout",
    "column_local",
    "column_spatial",
    "compose",
    "concat",
    "local",
    "modes",
    "parse_layout",
    "product",
    "replicate",
    "spatial",
    "swizzle",
]
