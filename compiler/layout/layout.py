"""The `Layout`: its canonical form, its function, and the operators as methods."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce as fold
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from dslc.compiler.diagnostics import error
from dslc.compiler.interned import Interned
from dslc.compiler.layout.mode import Modes, coalesce_modes, factors_axis, size_of
from dslc.compiler.layout.swizzles import Swizzle, normal_swizzles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Indices and addresses within a tile stay in 64 bits, and a typing error does not take all memory.
MAX_ELEMENTS = 1 << 40
MAX_MODES = 256


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class Layout(Interned):
    """A function from (thread t, local element i) to the logical index of an element of a tile.

    `shape` is the tile's. `spatial_modes` and `local_modes` are the digits of t and of i, the most
    significant first; together they count every element of the tile, and a replicated spatial mode
    gives each element to several threads. `swizzles` then permute the logical index, in order.

    A Layout holds its canonical form. Without swizzles that form is unique: reading t upwards, the
    first number that breaks the linear run of the lowest digit is that digit's size, and the rest
    follows by induction on t divided by it; so equal functions have equal fields. Layouts with
    swizzles may differ in fields and be one function: they are compared element by element.
    Equality is therefore exact for all layouts, and equal layouts have equal hashes. Those without
    swizzles are one object.
    """

    shape: tuple[int, ...]
    spatial_modes: Modes
    local_modes: Modes
    swizzles: tuple[Swizzle, ...] = ()
    _hash: int | None = field(init=False, default=None)  # known once it is asked for
    _text: str | None = field(init=False, default=None)  # the same

    # Operators stand in files above this one; those that methods call are set at such a file's end.
    composed: ClassVar[Callable[[Layout, Layout], Layout]]  # composition.py
    functions: ClassVar[Mapping[str, Callable[..., Layout]]]  # parsing.py
    text: ClassVar[Callable[[Layout], str]]  # printing.py
    picture: ClassVar[Callable[[Layout], str | None]]  # svg.py

    @staticmethod
    def identity(  # type: ignore[override]
        shape: tuple[int, ...],
        spatial: Modes,
        local: Modes,
        swizzles: tuple[Swizzle, ...] = (),
    ) -> tuple[Hashable, ...]:
        """The canonical form but for swizzles."""
        return shape, coalesce_modes(spatial), coalesce_modes(local), swizzles

    def _repr_html_(self) -> str | None:
        """The picture of the layout, for notebooks; None where it is too large for one."""
        return self.picture()

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "spatial_modes", coalesce_modes(self.spatial_modes))
        object.__setattr__(self, "local_modes", coalesce_modes(self.local_modes))
        object.__setattr__(self, "swizzles", normal_swizzles(self.swizzles))

    def _check(self) -> None:
        modes = (*self.spatial_modes, *self.local_modes)
        if max(self.rank, len(modes)) > MAX_MODES:
            text = f"a layout of {self.rank} axes and {len(modes)} modes is too large"
            raise error("DSL0300", text, hint=f"it has at most {MAX_MODES} of each")
        if max(self.elements, self.threads, self.locals) > MAX_ELEMENTS:
            count = f"{self.elements} elements and {self.threads} threads"
            raise error("DSL0300", f"a layout of {count} is too large")
        for mode in modes:
            if mode.size < 1 or not -1 <= mode.axis < self.rank:
                raise error("DSL0301", f"a mode has size {mode.size} and axis {mode.axis}")
        if any(m.is_replicated and m.size > 1 for m in self.local_modes):
            raise error("DSL0301", "a thread holds one copy of an element: local modes move it")
        for axis, extent in enumerate(self.shape):
            if extent < 1 or not factors_axis((m for m in modes if m.size > 1), axis, extent):
                raise error(
                    "DSL0301",
                    f"the modes do not count the {extent} elements of axis {axis} exactly once",
                )
        for swizzle in self.swizzles:
            if not swizzle.is_valid(self.shape):
                raise error("DSL0306", f"{swizzle} does not permute a tile of shape {self.shape}")

    # The function

    @property
    def rank(self) -> int:
        """The number of axes of the tile."""
        return len(self.shape)

    @property
    def elements(self) -> int:
        """The number of elements of the tile."""
        return prod(self.shape)

    @property
    def threads(self) -> int:
        """The number of threads T."""
        return size_of(self.spatial_modes)

    @property
    def locals(self) -> int:
        """The number of elements that each thread holds, m."""
        return size_of(self.local_modes)

    @property
    def replication(self) -> int:
        """How many threads hold each element."""
        return size_of(m for m in self.spatial_modes if m.is_replicated)

    @property
    def is_injective(self) -> bool:
        """Whether no element is held twice."""
        return self.replication == 1

    def index(self, t: int, i: int) -> tuple[int, ...]:
        """The logical index of element i of thread t."""
        if not (0 <= t < self.threads and 0 <= i < self.locals):
            raise IndexError(f"({t}, {i}) of {self.threads} threads with {self.locals} elements")
        return tuple(self._coordinates(t, i))

    def table(self) -> NDArray[np.int64]:
        """The whole function, int64 of shape [threads, locals, rank]."""
        import numpy as np

        t = np.arange(self.threads, dtype=np.int64)[:, None]
        i = np.arange(self.locals, dtype=np.int64)[None, :]
        zero = np.zeros((self.threads, self.locals), dtype=np.int64)
        axes = [zero + c for c in self._coordinates(t, i)]
        return np.stack(axes, axis=-1) if axes else zero.reshape(*zero.shape, 1)[..., :0]

    def numbers(self) -> NDArray[np.int64]:
        """The row-major number of each element, int64 of shape [threads, locals]."""
        table = self.table()
        number: NDArray[np.int64] = 0 * table.sum(axis=-1)
        for axis, extent in enumerate(self.shape):
            number = number * extent + table[..., axis]
        return number

    def _coordinates(self, t: Any, i: Any) -> list[Any]:
        coordinates: list[Any] = [0] * self.rank
        for number, modes in ((t, self.spatial_modes), (i, self.local_modes)):
            rest = number
            for mode in reversed(modes):
                if not mode.is_replicated:
                    step = rest % mode.size * mode.stride
                    coordinates[mode.axis] = coordinates[mode.axis] + step
                rest = rest // mode.size
        for swizzle in self.swizzles:
            swizzle.apply(coordinates)
        return coordinates

    # Equality, hash and text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layout):
            return NotImplemented
        if self is other:
            return True
        if self._measures() != other._measures():
            return False
        same = self.spatial_modes == other.spatial_modes and self.local_modes == other.local_modes
        if same and self.swizzles == other.swizzles:
            return True
        if not self.swizzles and not other.swizzles:
            return False
        return self._probes() == other._probes() and bool((self.table() == other.table()).all())

    def __hash__(self) -> int:
        # The modes of two equal swizzled layouts may differ: only the function may be hashed.
        if self._hash is None:
            object.__setattr__(self, "_hash", hash((self._measures(), self._probes())))
        assert self._hash is not None
        return self._hash

    def _measures(self) -> tuple[tuple[int, ...], int, int]:
        return self.shape, self.threads, self.locals

    def _probes(self) -> tuple[tuple[int, ...], ...]:
        threads, elements = self.threads, self.locals
        points = (
            (min(1, threads - 1), 0),
            (0, min(1, elements - 1)),
            (threads // 2, 0),
            (threads // 3, elements // 3),
            (0, elements // 2),
        )
        return tuple(tuple(self._coordinates(t, i)) for t, i in points)

    def __str__(self) -> str:
        if self._text is None:
            object.__setattr__(self, "_text", self.text())
        assert self._text is not None
        return self._text

    def __repr__(self) -> str:
        return str(self)

    # Composition and division (Tilus paper, Definitions 4 and 6)

    def compose(self, *others: Layout) -> Layout:
        """Self * others[0] * ...: each element of this tile becomes a tile of the next layout."""
        return fold(Layout.composed, others, self)

    def __mul__(self, other: Layout) -> Layout:
        if not isinstance(other, Layout):
            return NotImplemented
        return self.compose(other)

    def __truediv__(self, other: Layout) -> Layout:
        if not isinstance(other, Layout):
            return NotImplemented
        return self.functions["divide"](self, other)

    # Chains: what local(2, 1).spatial(8, 4) says is the product of the two.

    def local(self, *shape: int) -> Layout:
        """Compose with the local layout of that shape."""
        return self * self.functions["local"](*shape)

    def spatial(self, *shape: int) -> Layout:
        """Compose with the spatial layout of that shape."""
        return self * self.functions["spatial"](*shape)

    def column_local(self, *shape: int) -> Layout:
        """Compose with the column local layout of that shape."""
        return self * self.functions["column_local"](*shape)

    def column_spatial(self, *shape: int) -> Layout:
        """Compose with the column spatial layout of that shape."""
        return self * self.functions["column_spatial"](*shape)

    def replicate(self, count: int) -> Layout:
        """Compose with as many threads that hold copies."""
        return self * self.functions["replicate"](count)

    def reduce(self, layout: Layout, dims: Sequence[int], keepdims: bool = False) -> Layout:
        """Compose with the layout reduced over the axes `dims`."""
        return self * self.functions["reduce"](layout, dims, keepdims)

    def swizzle(self, layout: Layout, dim: int = 1, log_step: int = 0) -> Layout:
        """Compose with the layout swizzled along `dim`."""
        return self * self.functions["swizzle"](layout, dim, log_step)
