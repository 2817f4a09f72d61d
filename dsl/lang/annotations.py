"""What the annotations of a decorated kernel are made of: dtypes with dims, modes, dims.

The front-end reads annotations from the source and never evaluates them; these objects are what
Python sees when it evaluates them itself (without `from __future__ import annotations`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

from dslc.compiler.dtypes import DType, Kind


class ElementType(DType):
    """A dtype that can be subscripted: `f16[M, K]` is the type of a tensor parameter.

    It equals the compiler's dtype of the same name and hashes alike.
    """

    __slots__ = ()

    def __getitem__(self, dims: object) -> TensorType:
        return TensorType(self, dims if isinstance(dims, tuple) else (dims,))

    def __iter__(self) -> NoReturn:
        raise TypeError(f"the dtype {self.name} is not iterable")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DType):
            return NotImplemented
        return _fields(self) == _fields(other)

    def __hash__(self) -> int:
        return hash(DType(*_fields(self)))  # of the one object that the compiler has


def _fields(dtype: DType) -> tuple[str, Kind, int, int, int]:
    return dtype.name, dtype.kind, dtype.bits, dtype.exponent, dtype.mantissa


@dataclass(frozen=True, slots=True)
class TensorType:
    """The annotation of a parameter: a dtype, its dims, and how the kernel uses it."""

    dtype: DType
    dims: tuple[object, ...] | None
    mode: str = "in"
    strides: tuple[object, ...] | None = None
    packed: str | None = None

    def __or__(self, other: None) -> TensorType:
        """`f16[M] | None`: the front-end reads it from the source."""
        return self

    def __str__(self) -> str:
        text = "" if self.mode == "in" else f"{self.mode} "
        text += self.dtype.name
        if self.dims is not None:
            text += f"[{', '.join(map(str, self.dims))}]"
        if self.strides is not None:
            text += f" strides ({', '.join(map(str, self.strides))})"
        return text + (f" packed {self.packed}" if self.packed else "")


@dataclass(frozen=True, slots=True)
class Mode:
    """`out`, `inout` and, where it is read, `tensor`: how a kernel uses a tensor, around its type.

    The type is `out[f16[M, K]]`, or in the form that type checkers take `out[f16, M, K]`, with
    `strides(sm, 1)` and `packed("row")` behind the dims.
    """

    name: str

    def __getitem__(self, parts: object) -> TensorType:
        first, *rest = parts if isinstance(parts, tuple) else (parts,)
        tensor = _tensor_type(first)
        dims = tuple(p for p in rest if not isinstance(p, Storage))
        if dims:
            tensor = replace(tensor, dims=dims)
        for storage in (p for p in rest if isinstance(p, Storage)):
            tensor = replace(
                tensor,
                strides=storage.strides or tensor.strides,
                packed=storage.packed or tensor.packed,
            )
        return replace(tensor, mode=self.name)

    def __repr__(self) -> str:
        return f"dslc.{self.name}"


@dataclass(frozen=True, slots=True)
class Storage:
    """How a tensor lies in memory: what `strides` and `packed` are within `tensor[...]`."""

    strides: tuple[object, ...] | None = None
    packed: str | None = None


def strides(type_: object, *strides: object) -> TensorType | Storage:
    """A tensor that is not dense: `strides(f16[M, K], sm, 1)` has element [i, j] at i*sm + j.

    Strides count elements. A free name is bound at the call from the argument. Within `tensor[...]`
    they stand behind the dims: `tensor[f16, M, K, strides(sm, 1)]`.
    """
    if not isinstance(type_, TensorType | DType):
        return Storage((type_, *strides))
    return replace(_tensor_type(type_), strides=strides)


def packed(type_: object, order: str = "row") -> TensorType | Storage:
    """A low-bit tensor with fixed storage, as in `packed(u4[K, N], "row")`.

    Within `tensor[...]` it stands behind the dims: `tensor[u4, K, N, packed("row")]`.
    `row` is compact and row-major: element i has bits [i*b, i*b+b), little-endian, across bytes.
    """
    if isinstance(type_, str):
        return Storage(packed=type_)
    return replace(_tensor_type(type_), packed=order)


def _tensor_type(type_: object) -> TensorType:
    if isinstance(type_, TensorType):
        return type_
    if isinstance(type_, DType):
        return TensorType(type_, None)
    raise TypeError(f"expected a type such as f16[M, K], got {type_!r}")


class Dim:
    """A free dim, or an expression of dims such as `K // G`, by its text."""

    __slots__ = ("_atom", "_text")

    def __init__(self, text: str, *, atom: bool = True) -> None:
        self._text = text
        self._atom = atom

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def _with(self, op: str, other: object, swapped: bool = False) -> Dim:
        left, right = (other, self) if swapped else (self, other)
        return Dim(f"{_operand(left)} {op} {_operand(right)}", atom=False)

    def __add__(self, other: object) -> Dim:
        return self._with("+", other)

    def __radd__(self, other: object) -> Dim:
        return self._with("+", other, swapped=True)

    def __sub__(self, other: object) -> Dim:
        return self._with("-", other)

    def __rsub__(self, other: object) -> Dim:
        return self._with("-", other, swapped=True)

    def __mul__(self, other: object) -> Dim:
        return self._with("*", other)

    def __rmul__(self, other: object) -> Dim:
        return self._with("*", other, swapped=True)

    def __floordiv__(self, other: object) -> Dim:
        return self._with("//", other)

    def __rfloordiv__(self, other: object) -> Dim:
        return self._with("//", other, swapped=True)

    def __mod__(self, other: object) -> Dim:
        return self._with("%", other)

    def __rmod__(self, other: object) -> Dim:
        return self._with("%", other, swapped=True)


def _operand(value: object) -> str:
    if isinstance(value, Dim) and not value._atom:
        return f"({value})"
    return str(value)


def dims(names: str) -> tuple[Dim, ...]:
    """Dims for annotations and bodies, by name: `M, N, K = dslc.dims("M N K")`.

    Always a tuple: `(M,) = dims("M")`. Names are split at spaces and commas. ValueError for what is
    no name.
    """
    words = names.replace(",", " ").split()
    for name in words:
        if not name.isidentifier():
            raise ValueError(f"{name!r} is not a name")
    return tuple(Dim(name) for name in words)


out = Mode("out")
inout = Mode("inout")
tensor = Mode("in")


class Tile:
    """A tile, tensor or scalar of a kernel, to type checkers: functions of a body may say so.

    `def double(x: Tile) -> Tile: return x + x`. There are no objects of it.
    """
