"""The dtypes by name, each of which can be subscripted with dims.

`bool` is here but not in `__all__`, so that a star import leaves Python's own `bool` alone; write
`from dslc.lang import bool` or `dslc.bool` where a parameter holds bools.
"""

from __future__ import annotations

from dataclasses import astuple

from dslc.compiler.dtypes import parse_dtype
from dslc.lang.annotations import ElementType


def _elements(*names: str) -> tuple[ElementType, ...]:
    return tuple(_element(name) for name in names)


def _element(name: str) -> ElementType:
    dtype = parse_dtype(name)
    assert dtype is not None, name
    return ElementType(*astuple(dtype))


i1, i2, i3, i4, i5, i6, i7, i8, i16, i32, i64 = _elements(
    "i1", "i2", "i3", "i4", "i5", "i6", "i7", "i8", "i16", "i32", "i64"
)
u1, u2, u3, u4, u5, u6, u7, u8, u16, u32, u64 = _elements(
    "u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "u16", "u32", "u64"
)
f16, bf16, tf32, f32, f64, e8m0 = _elements("f16", "bf16", "tf32", "f32", "f64", "e8m0")
f3e1m1, f3e2m0 = _elements("f3e1m1", "f3e2m0")
f4e1m2, f4e2m1, f4e3m0 = _elements("f4e1m2", "f4e2m1", "f4e3m0")
f5e1m3, f5e2m2, f5e3m1, f5e4m0 = _elements("f5e1m3", "f5e2m2", "f5e3m1", "f5e4m0")
f6e1m4, f6e2m3, f6e3m2, f6e4m1, f6e5m0 = _elements("f6e1m4", "f6e2m3", "f6e3m2", "f6e4m1", "f6e5m0")
f7e1m5, f7e2m4, f7e3m3, f7e4m2, f7e5m1, f7e6m0 = _elements(
    "f7e1m5", "f7e2m4", "f7e3m3", "f7e4m2", "f7e5m1", "f7e6m0"
)
f8e1m6, f8e2m5, f8e3m4, f8e4m3, f8e5m2, f8e6m1, f8e7m0 = _elements(
    "f8e1m6", "f8e2m5", "f8e3m4", "f8e4m3", "f8e5m2", "f8e6m1", "f8e7m0"
)
bool = _element("bool")  # noqa: A001 - the language has this name

__all__ = [
    "bf16",
    "e8m0",
    "f3e1m1",
    "f3e2m0",
    "f4e1m2",
    "f4e2m1",
    "f4e3m0",
    "f5e1m3",
    "f5e2m2",
    "f5e3m1",
    "f5e4m0",
    "f6e1m4",
    "f6e2m3",
    "f6e3m2",
    "f6e4m1",
    "f6e5m0",
    "f7e1m5",
    "f7e2m4",
    "f7e3m3",
    "f7e4m2",
    "f7e5m1",
    "f7e6m0",
    "f8e1m6",
    "f8e2m5",
    "f8e3m4",
    "f8e4m3",
    "f8e5m2",
    "f8e6m1",
    "f8e7m0",
    "f16",
    "f32",
    "f64",
    "i1",
    "i2",
    "i3",
    "i4",
    "i5",
    "i6",
    "i7",
    "i8",
    "i16",
    "i32",
    "i64",
    "tf32",
    "u1",
    "u2",
    "u3",
    "u4",
    "u5",
    "u6",
    "u7",
    "u8",
    "u16",
    "u32",
    "u64",
]
