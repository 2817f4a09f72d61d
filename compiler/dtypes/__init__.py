"""Element types: their definition, their bits and their packing."""

from dslc.compiler.dtypes.dtype import (
    BOOL,
    F16,
    F32,
    F64,
    I32,
    I64,
    INDEX,
    U8,
    DType,
    Kind,
    all_dtypes,
    parse_dtype,
)

__all__ = [
    "BOOL",
    "F16",
    "F32",
    "F64",
    "I32",
    "I64",
    "INDEX",
    "U8",
    "DType",
    "Kind",
    "all_dtypes",
    "parse_dtype",
]
