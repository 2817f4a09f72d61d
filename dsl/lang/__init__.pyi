# The functions of a kernel's body to type checkers; their documentation is in this package's modules.
# Names that Python's builtins have as well keep those meanings, since host code stands beside kernels.

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

from dslc.compiler.layout import Layout
from dslc.compiler.layout import column_local as column_local
from dslc.compiler.layout import column_spatial as column_spatial
from dslc.compiler.layout import complement as complement
from dslc.compiler.layout import divide as divide
from dslc.compiler.layout import inverse as inverse
from dslc.compiler.layout import left_divide as left_divide
from dslc.compiler.layout import local as local
from dslc.compiler.layout import modes as modes
from dslc.compiler.layout import permute as permute
from dslc.compiler.layout import product as product
from dslc.compiler.layout import replicate as replicate
from dslc.compiler.layout import spatial as spatial
from dslc.compiler.layout import squeeze as squeeze
from dslc.compiler.layout import swizzle as swizzle
from dslc.compiler.layout import unsqueeze as unsqueeze
from dslc.lang.annotations import Tile as Tile
from dslc.lang.annotations import dims as dims
from dslc.lang.annotations import inout as inout
from dslc.lang.annotations import out as out
from dslc.lang.annotations import packed as packed
from dslc.lang.annotations import strides as strides
from dslc.lang.annotations import tensor as tensor
from dslc.lang.elements import *
from dslc.lang.elements import bool as bool

_T = TypeVar("_T")
_Bool = bool  # the dtype; Python's own is `int` here
_Number = Tile | float
_Index = Tile | int
_Shape = Sequence[int]
_DType = type[Tile] | int  # a choice of dtypes is a name of `dims`

inf: float
nan: float

def zeros(dtype: _DType, shape: _Shape, *, layout: Layout | None = ...) -> Tile: ...
def full(dtype: _DType, shape: _Shape, value: _Number, *, layout: Layout | None = ...) -> Tile: ...
def arange(n: int, *, layout: Layout | None = ...) -> Tile: ...
def cast(
    x: _Number, dtype: _DType, *, saturate: int = ..., layout: Layout | None = ...
) -> Tile: ...
def view(x: Tile, dtype: _DType, layout: Layout) -> Tile: ...
def dot(a: Tile, b: Tile, *, transposed: str = ..., layout: Layout | None = ...) -> Tile: ...
def transpose(x: Tile, axes: Sequence[int] | None = ...) -> Tile: ...
def repeat(x: Tile, n: int, axis: int) -> Tile: ...
def where(cond: _Number, x: _Number, y: _Number) -> Tile: ...
def select(cond: _Number, x: _Number, y: _Number) -> Any: ...
def dim(t: Tile, axis: int) -> int: ...
@overload
def cdiv(a: Tile, b: Tile | int) -> Tile: ...
@overload
def cdiv(a: int, b: int) -> int: ...
def turns_at_once() -> int: ...
@overload
def broadcast(x: Tile, shape: _Shape) -> Tile: ...
@overload
def broadcast(x: Layout, shape: int) -> Layout: ...
@overload
def reshape(x: Tile, shape: _Shape) -> Tile: ...
@overload
def reshape(x: Layout, shape: _Shape) -> Layout: ...
@overload
def concat(xs: Sequence[Tile], axis: int) -> Tile: ...
@overload
def concat(xs: Sequence[Layout], axis: int) -> Layout: ...
def minimum(x: _Number, y: _Number) -> Tile: ...
def maximum(x: _Number, y: _Number) -> Tile: ...
def clamp(x: _Number, lo: _Number, hi: _Number) -> Tile: ...
def fma(x: _Number, y: _Number, z: _Number) -> Tile: ...
@overload
def abs(x: Tile) -> Tile: ...
@overload
def abs(x: Any) -> Any: ...
@overload
def round(x: Tile) -> Tile: ...
@overload
def round(x: Any, *digits: Any) -> Any: ...
def floor(x: _Number) -> Tile: ...
def ceil(x: _Number) -> Tile: ...
def exp(x: _Number) -> Tile: ...
def exp2(x: _Number) -> Tile: ...
def log(x: _Number) -> Tile: ...
def log2(x: _Number) -> Tile: ...
def sqrt(x: _Number) -> Tile: ...
def rsqrt(x: _Number) -> Tile: ...
def sin(x: _Number) -> Tile: ...
def cos(x: _Number) -> Tile: ...
def tanh(x: _Number) -> Tile: ...
def sigmoid(x: _Number) -> Tile: ...
def erf(x: _Number) -> Tile: ...
@overload
def sum(x: Tile, axis: int | None = ..., keepdims: int = ...) -> Tile: ...
@overload
def sum(x: Iterable[Any], *args: Any, **options: Any) -> Any: ...
@overload
def max(x: Tile, axis: int | None = ..., *, keepdims: int = ...) -> Tile: ...
@overload
def max(x: Any, *more: Any, **options: Any) -> Any: ...
@overload
def min(x: Tile, axis: int | None = ..., *, keepdims: int = ...) -> Tile: ...
@overload
def min(x: Any, *more: Any, **options: Any) -> Any: ...
@overload
def any(x: Tile, axis: int | None = ..., keepdims: int = ...) -> Tile: ...
@overload
def any(x: Iterable[Any]) -> Any: ...
@overload
def all(x: Tile, axis: int | None = ..., keepdims: int = ...) -> Tile: ...
@overload
def all(x: Iterable[Any]) -> Any: ...
def argmax(x: Tile, axis: int | None = ..., keepdims: int = ...) -> Tile: ...
def argmin(x: Tile, axis: int | None = ..., keepdims: int = ...) -> Tile: ...
def cumsum(x: Tile, axis: int) -> Tile: ...
def load(
    region: Tile,
    other: _Number = ...,
    where: _Number | None = ...,
    *,
    layout: Layout | None = ...,
) -> Tile: ...
def store(region: Tile, x: _Number, where: _Number | None = ...) -> None: ...
def prod(x: Tile, axis: int | None = ..., keepdims: int = ...) -> Tile: ...
def cumprod(x: Tile, axis: int) -> Tile: ...
def cummax(x: Tile, axis: int) -> Tile: ...
def cummin(x: Tile, axis: int) -> Tile: ...
@overload
def reduce(f: Callable[[Tile, Tile], Any], x: Tile, axis: int, *, keepdims: int = ...) -> Tile: ...
@overload
def reduce(
    f: Callable[[Any, Any], Any], x: Sequence[Tile], axis: int, *, keepdims: int = ...
) -> list[Tile]: ...
@overload
def reduce(f: Layout, dims: Sequence[int], keepdims: int = ...) -> Layout: ...
@overload
def scan(f: Callable[[Tile, Tile], Any], x: Tile, axis: int, *, reverse: int = ...) -> Tile: ...
@overload
def scan(
    f: Callable[[Any, Any], Any], x: Sequence[Tile], axis: int, *, reverse: int = ...
) -> list[Tile]: ...
@overload
def sort(x: Tile, axis: int, *, descending: int = ...) -> Tile: ...
@overload
def sort(x: Sequence[Tile], axis: int, *, descending: int = ...) -> list[Tile]: ...
def argsort(x: Tile, axis: int, *, descending: int = ...) -> Tile: ...
def topk(x: Tile, k: int, axis: int) -> list[Tile]: ...
def gather(region: Tile, ids: Tile, axis: int) -> Tile: ...
def scatter(region: Tile, ids: Tile, x: _Number, axis: int) -> None: ...
def atomic_add(region: Tile, x: _Number) -> Tile: ...
def atomic_max(region: Tile, x: _Number) -> Tile: ...
def atomic_min(region: Tile, x: _Number) -> Tile: ...
def atomic_exchange(region: Tile, x: _Number) -> Tile: ...
def atomic_cas(region: Tile, expected: _Number, x: _Number) -> Tile: ...
def buffer(dtype: _DType, shape: _Shape, init: _Number | None = ...) -> Tile: ...
def shared(dtype: _DType, shape: _Shape | None = ..., *, layout: Layout | None = ...) -> Tile: ...
def register(
    dtype: _DType,
    shape: _Shape | None = ...,
    *,
    layout: Layout | None = ...,
    init: _Number | None = ...,
) -> Tile: ...
def copy_async(dst: Tile, src: Tile) -> None: ...
def commit() -> None: ...
def wait(n: int) -> None: ...
def sync() -> None: ...
def semaphore_wait(region: Tile, value: _Number) -> None: ...
def semaphore_release(region: Tile, value: _Number) -> None: ...
def grid(*extents: int) -> None: ...
def block_index() -> Any: ...
def range(
    start: _Index,
    stop: _Index = ...,
    step: int = ...,
    *,
    stages: int = ...,
    unroll: int = ...,
    split: int = ...,
    atomic: int = ...,
) -> Iterable[int]: ...
@overload
def parallel(one: Iterable[int], /) -> Iterator[int]: ...
@overload
def parallel(one: Iterable[int], two: Iterable[int], /) -> Iterator[tuple[int, int]]: ...
@overload
def parallel(
    one: Iterable[int], two: Iterable[int], three: Iterable[int], /
) -> Iterator[tuple[int, int, int]]: ...
@overload
def parallel(*ranges: Iterable[int]) -> Iterator[tuple[int, ...]]: ...
def static(items: Iterable[_T]) -> Iterable[_T]: ...
def require(condition: object) -> None: ...
def print(*values: object, **options: Any) -> None: ...

__all__ = [
    "Tile",
    "abs",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "atomic_add",
    "atomic_cas",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "bf16",
    "block_index",
    "broadcast",
    "buffer",
    "cast",
    "cdiv",
    "ceil",
    "clamp",
    "column_local",
    "column_spatial",
    "commit",
    "complement",
    "concat",
    "copy_async",
    "cos",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "dim",
    "dims",
    "divide",
    "dot",
    "e8m0",
    "erf",
    "exp",
    "exp2",
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
    "floor",
    "fma",
    "full",
    "gather",
    "grid",
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
    "inf",
    "inout",
    "inverse",
    "left_divide",
    "load",
    "local",
    "log",
    "log2",
    "max",
    "maximum",
    "min",
    "minimum",
    "modes",
    "nan",
    "out",
    "packed",
    "parallel",
    "permute",
    "print",
    "prod",
    "product",
    "range",
    "reduce",
    "register",
    "repeat",
    "replicate",
    "require",
    "reshape",
    "round",
    "rsqrt",
    "scan",
    "scatter",
    "select",
    "semaphore_release",
    "semaphore_wait",
    "shared",
    "sigmoid",
    "sin",
    "sort",
    "spatial",
    "sqrt",
    "squeeze",
    "static",
    "store",
    "strides",
    "sum",
    "swizzle",
    "sync",
    "tanh",
    "tensor",
    "tf32",
    "topk",
    "transpose",
    "turns_at_once",
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
    "unsqueeze",
    "view",
    "wait",
    "where",
    "zeros",
]
