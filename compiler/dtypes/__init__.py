"""Element types: their definition, their bits and their packing."""

from dslc.compiler.dtypes.casting import cast
from dslc.compiler.dtypes.dtype import (
    BF16,
    BOOL,
    E8M0,
    F16,
    F32,
    F64,
    I32,
    I64,
    INDEX,
    TF32,
    U8,
    U32,
    DType,
    Kind,
    all_dtypes,
    dtype_named,
    parse_dtype,
)
from dslc.compiler.dtypes.formats import Limits, has_infinity, has_nan, limits, rounds_twice
from dslc.compiler.dtypes.packing import pack_bits, packed_bytes, unpack_bits
from dslc.compiler.dtypes.rounding import decode, encode, round_to, wrap
from dslc.compiler.dtypes.storage import (
    as_storage,
    first_invalid,
    from_ml_dtypes,
    storage_dtype,
    to_ml_dtypes,
    value_dtype,
)

__all__ = [
    "BF16", "BOOL", "E8M0", "F16", "F32", "F64", "I32", "I64", "INDEX", "TF32", "U8", "U32", "DType",
    "Kind", "Limits", "all_dtypes", "as_storage", "cast", "decode", "dtype_named", "encode",
    "first_invalid", "from_ml_dtypes", "has_infinity", "has_nan", "limits", "pack_bits",
    "packed_bytes", "parse_dtype", "round_to", "rounds_twice", "storage_dtype", "to_ml_dtypes",
    "unpack_bits", "value_dtype", "wrap",
]  # fmt: skip
