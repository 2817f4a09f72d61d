"""The functions of `nki.language` on whole tiles: each makes its result and is a few instructions.

`nl.load(x)` is a tile in SBUF and a `dma_copy`; `nl.add(a, b)` a `tensor_tensor`. What no instruction
has (division, softmax over axes that repeat) is refused as the Neuron documentation says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from dslc.runtime.nki_simulator.elements import FLOATS, array_dtype
from dslc.runtime.nki_simulator.engines.operators import OPERATORS, Operator
from dslc.runtime.nki_simulator.neuroncore import INSTRUCTIONS, Core
from dslc.runtime.nki_simulator.tensors import PSUM, SBUF, Tensor
from dslc.runtime.nki_simulator.views import NkiTensor

_BY_FLOATS = ("float32", "tfloat32", "bfloat16", "float16")  # the highest first
_REDUCED = {
    "sum": "add",
    "max": "maximum",
    "min": "minimum",
    "prod": "multiply",
    "all": "logical_and",
}


class TileFunctions:
    """`nl.load`, `nl.add`, `nl.sum` and the like for one core."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def _run(self, name: str, *args: Any, **kwargs: Any) -> None:
        outer, self._core.doing = self._core.doing, self._core.doing or name
        INSTRUCTIONS[name](self._core, *args, **kwargs)
        self._core.doing = outer

    def _new(self, shape: Sequence[int], dtype: Any, space: str = SBUF) -> NkiTensor:
        return self._core.allocate(tuple(shape), dtype, space)

    # -- data movement

    def load(self, src: Any, dtype: Any = None) -> NkiTensor:
        """A tile in SBUF with the elements of a tensor in HBM."""
        source = self._tensor(src, "src")
        shape = source.shape if source.ndim > 1 else (1, *source.shape)
        out = self._new(shape, dtype or source.dtype)
        self._run("dma_copy", out, source)
        return out

    def load_transpose2d(self, src: Any, dtype: Any = None) -> NkiTensor:
        """A tile in SBUF with rows and columns of a matrix in HBM exchanged."""
        source = self._tensor(src, "src")
        self._core.require(source.ndim == 2, "shape", f"src {source} is no matrix")
        out = self._new((source.shape[1], source.shape[0]), dtype or source.dtype)
        self._run("dma_copy", out, source.permute((1, 0)))
        return out

    def store(self, dst: Any, value: Any) -> None:
        """A tile in SBUF to HBM."""
        tile = self._tensor(value, "value")
        self._core.require(
            tile.buffer != PSUM, "memory", f"value {tile}: copy it to SBUF by tensor_copy first"
        )
        self._run("dma_copy", self._tensor(dst, "dst"), tile)

    def transpose(self, x: Any, dtype: Any = None) -> NkiTensor:
        """Partitions and elements exchanged, in PSUM."""
        source = self._tensor(x, "x")
        out = self._new((source.free, source.shape[0]), dtype or source.dtype, PSUM)
        self._run("nc_transpose", out, source)
        return out

    def matmul(self, x: Any, y: Any, transpose_x: bool = False) -> NkiTensor:
        """x transposed times y, in PSUM: the contraction lies along the partitions of both."""
        self._core.require(
            transpose_x,
            "operand",
            "x is given with its contraction along the partitions: transpose_x",
        )
        left, right = self._tensor(x, "x"), self._tensor(y, "y")
        out = self._new((left.free, right.free), "float32", PSUM)
        self._run("nc_matmul", out, left, right, accumulate=False)
        return out

    def broadcast_to(self, x: Any, shape: Sequence[int]) -> NkiTensor:
        """The tile repeated along its axes of one element."""
        source, new = self._tensor(x, "x"), tuple(shape)
        fits = len(new) == source.ndim and all(
            a in (b, 1) for a, b in zip(source.shape, new, strict=True)
        )
        self._core.require(fits, "shape", f"{source} cannot be repeated to {new}")
        spread = source
        for axis in range(1, source.ndim):
            if source.shape[axis] != new[axis]:
                spread = spread.broadcast(axis, new[axis])
        if source.shape[0] == new[0]:
            out = self._new(new, source.dtype)
            self._run("tensor_copy", out, spread)
            return out
        out = self._new(new, source.dtype)
        for first in range(0, new[0], 32):  # a quadrant at a time takes its partition 0
            part = out[first : min(first + 32, new[0])]
            self._run("nc_stream_shuffle", part, spread, [0] * 32)
        return out

    def expand_dims(self, x: Any, axis: int | Sequence[int]) -> NkiTensor:
        """A view with axes of one element."""
        tensor = self._tensor(x, "x")
        for at in sorted([axis] if isinstance(axis, int) else axis):
            tensor = tensor.expand_dim(at if at >= 0 else at + tensor.ndim + 1)
        return tensor

    # -- creation

    def full(self, shape: Any, fill_value: Any, dtype: Any, buffer: Any = SBUF) -> NkiTensor:
        """A tile of one number."""
        out = self._new(shape, dtype, buffer)
        value = float(fill_value) if out.dtype in FLOATS else int(fill_value)
        self._run("memset", out, value)
        return out

    def ones(self, shape: Any, dtype: Any, buffer: Any = SBUF) -> NkiTensor:
        """A tile of ones."""
        return self.full(shape, 1, dtype, buffer)

    def zeros_like(self, x: Any, dtype: Any = None, buffer: Any = None) -> NkiTensor:
        """Zeros in the shape of a tile."""
        source = self._tensor(x, "x")
        return self.full(source.shape, 0, dtype or source.dtype, buffer or source.buffer)

    def empty_like(self, x: Any, dtype: Any = None, buffer: Any = None) -> NkiTensor:
        """Unwritten memory in the shape of a tile."""
        source = self._tensor(x, "x")
        return self._new(source.shape, dtype or source.dtype, buffer or source.buffer)

    # -- computation

    def apply(self, op: Operator, *args: Any, **kwargs: Any) -> NkiTensor:
        """`nl.NAME(...)` of an operator: of one tile or two, of a tile and a number, over axes."""
        self._core.doing = f"nl.{op.name}"
        if op.name in ("divide", "mod", "fmod"):
            self._core.fail("operator", f"no engine has nl.{op.name}: multiply by nl.reciprocal")
        dtype = kwargs.pop("dtype", None)
        if "axis" in kwargs or (len(args) == 2 and op.reducible and not _is_operand(args[1])):
            axis = args[1] if len(args) > 1 else kwargs.get("axis")
            return self._reduce(op, args[0], axis, bool(kwargs.get("keepdims")), dtype)
        if len(args) == 2 and op.alu is not None and not op.unary:
            return self._two(op, args[0], args[1], dtype)
        if len(args) == 1 and not kwargs and (op.act is not None or op.unary):
            source = self._tensor(args[0], "x")
            out = self._new(source.shape, dtype or source.dtype)
            if op.act is not None and op.name != "reciprocal":
                self._run("activation", out, op, source)
            elif op.name == "reciprocal":
                self._run("reciprocal", out, source)
            else:
                self._run("tensor_scalar", out, source, op, 0)
            return out
        self._core.fail("signature", f"nl.{op.name} is not called so, or is not simulated")

    def negative(self, x: Any, dtype: Any = None) -> NkiTensor:
        """-x."""
        return self._two(OPERATORS["multiply"], x, -1.0, dtype)

    def reduction(self, name: str) -> Any:
        """`nl.sum` and the like, which are no operators."""

        def reduce(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
            self._core.doing = f"nl.{name}"
            return self._reduce(OPERATORS[_REDUCED[name]], x, axis, keepdims, dtype)

        return reduce

    def mean(self, x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
        """The mean over the last free axes."""
        total = self._reduce(OPERATORS["add"], x, axis, keepdims, "float32")
        count = self._tensor(x, "x").size / total.size
        return self._two(
            OPERATORS["multiply"], total, 1 / count, dtype or self._tensor(x, "x").dtype
        )

    def where(self, condition: Any, x: Any, y: Any, dtype: Any = None) -> NkiTensor:
        """x where the condition holds, else y."""
        mask, yes = self._tensor(condition, "condition"), self._tensor(x, "x")
        out = self._new(yes.shape, dtype or yes.dtype)
        if isinstance(y, Tensor):
            self._run("tensor_copy", out, y)
        else:
            self._run("memset", out, float(y) if out.dtype in FLOATS else int(y))
        self._run("tensor_copy_predicated", out, yes, mask)
        return out

    def _two(self, op: Operator, x: Any, y: Any, dtype: Any) -> NkiTensor:
        if not isinstance(x, Tensor) and not isinstance(y, Tensor):
            self._core.fail("signature", f"nl.{op.name} takes a tile")
        tiles = [t for t in (x, y) if isinstance(t, Tensor)]
        out = self._new(tiles[0].shape, dtype or _promoted([t.dtype for t in tiles]))
        if len(tiles) == 2:
            self._run("tensor_tensor", out, x, y, op)
        elif isinstance(x, Tensor):
            self._run("tensor_scalar", out, x, op, y)
        else:
            self._run("tensor_scalar", out, y, op, x, reverse0=True)
        return out

    def _reduce(
        self, op: Operator, x: Any, axis: Any, keepdims: bool = False, dtype: Any = None
    ) -> NkiTensor:
        source = self._tensor(x, "x")
        axes = sorted(a % source.ndim for a in ([axis] if isinstance(axis, int) else axis))
        kept = [1 if i in axes else n for i, n in enumerate(source.shape)]
        shape = kept if keepdims else [n for i, n in enumerate(kept) if i not in axes]
        out = self._new(shape if len(shape) > 1 else (*shape, 1), dtype or source.dtype)
        self._run("tensor_reduce", out, op, source, tuple(axes))
        return out

    def _tensor(self, value: Any, what: str) -> NkiTensor:
        if not isinstance(value, NkiTensor):
            self._core.fail("signature", f"{what} is a tensor, not {type(value).__name__}")
        return value

    def names(self) -> dict[str, Any]:
        """By their names in `nki.language`; operators call `apply`."""
        plain = (
            "load",
            "load_transpose2d",
            "store",
            "transpose",
            "matmul",
            "broadcast_to",
            "expand_dims",
            "full",
            "ones",
            "zeros_like",
            "empty_like",
            "negative",
            "mean",
            "where",
        )
        by_name: dict[str, Any] = {name: getattr(self, name) for name in plain}
        return by_name | {name: self.reduction(name) for name in ("sum", "prod", "all")}


def identity(core: Core, n: int, dtype: Any, dst: Any = None) -> NkiTensor:
    """An identity matrix in SBUF: a fill, and ones where the partition is the element."""
    if dst is None:
        out = core.allocate((n, n), dtype, SBUF)
    else:
        out = dst
        core.require(
            isinstance(dst, NkiTensor) and dst.shape == (n, n),
            "shape",
            f"dst {dst} is not {n} x {n}",
        )
    ones = core.allocate((n, n), out.dtype, SBUF)
    one: Any = 1.0 if out.dtype in FLOATS else 1
    INSTRUCTIONS["memset"](core, ones, one)
    INSTRUCTIONS["affine_select"](
        core, out, [[-1, n]], 1, ones, 0.0, cmp_op=OPERATORS["equal"], offset=0
    )
    return out


def _is_operand(value: Any) -> bool:
    return isinstance(value, (Tensor, float, np.floating))


def _promoted(dtypes: Sequence[str]) -> str:
    """The type of the highest precision."""
    for name in _BY_FLOATS:
        if name in dtypes:
            return name
    return max(dtypes, key=lambda name: array_dtype(name).itemsize)
