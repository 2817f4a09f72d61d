"""What one statement of a scheduled kernel costs a block: instructions, bytes, cycles of units.

Counts follow the layouts: a warp instruction serves 32 threads, 16-bit floats go in pairs, shared
memory moves what each thread asks for, copies included. Instructions a weight of casts from low-bit
types are those of the emitted casts (tests/benchmarks/casts.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log2, prod
from types import MappingProxyType

from dslc.compiler.analysis.amounts import Work
from dslc.compiler.analysis.thread_products import thread_product
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import evaluate
from dslc.compiler.ir.expr import Expr, Var
from dslc.compiler.ir.values import Region, Role, Value
from dslc.compiler.layout import Conversion, Layout, conversion, divisible, spatial
from dslc.compiler.layout.conversions import shared_axis
from dslc.compiler.layout.mode import with_weights
from dslc.compiler.targets import Target
from dslc.compiler.targets.rates import Rates

# Warp instructions, and results of the special function unit, of one element of an operation.
_OPS = {
    "exp": (2, 1), "exp2": (1, 1), "log": (2, 1), "log2": (1, 1), "sqrt": (3, 1), "rsqrt": (1, 1),
    "sin": (12, 1), "cos": (12, 1), "tanh": (6, 2), "sigmoid": (6, 2), "erf": (16, 1), "div": (9, 1),
    "floordiv": (20, 1), "mod": (22, 1), "pow": (14, 2), "round": (1, 0),
}  # fmt: skip
# Instructions an element of a cast from codes of so many bits to 16-bit floats.
_CASTS = {1: 0.9, 2: 0.8, 3: 1.05, 4: 0.75, 5: 1.05, 6: 1.1, 7: 1.2, 8: 0.5}
_SMALL_FLOAT = 0.3  # more, for a float's exponent and sign
_VECTOR = 16  # bytes of the widest access of a thread
_BYTES = spatial(8, 4).local(1, 4)  # of 8-bit elements that ldmatrix reads
_ADDRESS = 2.0  # instructions for the address of an access
_COPY_ADDRESS, _SHARED_ADDRESS = 6.0, 0.75  # of an asynchronous copy: two, and a predicate
_BARRIER = 40.0  # cycles until all warps are there
_CLUSTER = 300.0  # until those of all blocks of a cluster are
_SHARED_LATENCY = 30.0
_EXCHANGED = 48.0  # bytes a cycle in which a multiprocessor stores or loads parts of sums
_CHAIN = 18.0  # cycles of a matrix instruction until its result can be used
_ARITHMETIC_LATENCY = 6.0
_ROWS, _READY = 64, 8  # of a warpgroup's instruction; columns' time until it begins
_FROM_REGISTERS = 56.0  # cycles of a warpgroup's instruction that reads an operand in registers
_OVERHEAD = 1.2  # moves and indices beside the instructions that a statement needs
_SERIAL = 1.6  # cycles between two instructions of one warp
_EXCHANGE = 2  # barriers of an exchange through shared memory


class Statements:
    """The costs of the statements of one kernel, whose blocks have `threads` threads.

    `sizes` are those of its dims that are known: what lies beyond them is not loaded.
    """

    def __init__(
        self,
        target: Target,
        rates: Rates,
        threads: int,
        sizes: Mapping[Var, Expr] = MappingProxyType({}),
    ) -> None:
        self.target, self.rates, self.sizes = target, rates, sizes
        self.warp = target.warp_size
        self.warps = max(1, threads // self.warp)
        self._known: dict[ins.Instruction, Work] = {}

    def of(self, stmt: ins.Instruction) -> Work:
        """The work of one statement that holds no others; not to be changed."""
        if stmt not in self._known:
            self._known[stmt] = self._work(stmt)
        return self._known[stmt]

    def _work(self, stmt: ins.Instruction) -> Work:
        work = Work()
        match stmt:
            case ins.Load(out=out, region=region, rank=rank):
                self._access(work, region, out, work.loaded)
                if rank is not None:
                    work.path += region_bytes(region) / self.rates.remote
            case ins.Store(region=region, x=x):
                self._access(work, region, x, work.stored)
            case ins.CopyAsync(src=src, barrier=barrier) if barrier is not None:
                # A unit of its own makes it: one thread asks.
                _count(work.loaded, src, self._inside(src))
                work.shared += self._inside(src)
                self._issue(work, 2)
            case ins.CopyAsync(dst=dst, src=src, layout=layout):
                self._copy(work, dst, src, layout)
            case ins.AtomicRmw(region=region, x=x):
                # The memory's side reads what it adds to.
                self._access(work, region, x, work.stored)
                work.loaded.update(work.stored)
                # What was stored before must be seen before the answer counts.
                work.waits += 2 * self.wait(region) if stmt.out is not None else 0
            case ins.Gather(out=out, region=region):
                self._access(work, region, out, work.loaded)
            case ins.Scatter(region=region, x=x):
                self._access(work, region, x, work.stored)
            case ins.Dot():
                self._dot(work, stmt)
            case ins.Cast(out=out, x=x):
                self._issue(work, self._cast(out, x))
            case ins.ConvertLayout(out=out, x=x):
                self._convert(work, out, x)
            case ins.Reduce(out=out, x=x, axis=axis) | ins.Scan(out=out, x=x, axis=axis):
                self._reduce(work, out, x, axis)
            case ins.Unary(out=out, op=op) | ins.Binary(out=out, op=op):
                self._elementwise(work, out, op)
            case ins.Fma(out=out) | ins.Where(out=out) | ins.Full(out=out) | ins.Arange(out=out):
                self._elementwise(work, out, "")
            case ins.MemoryBarrier(warp=warp):
                work.path += 0.0 if warp else _BARRIER
            case ins.Sync():
                work.path += _CLUSTER if stmt.cluster else _BARRIER
            case ins.WaitGroup() | ins.CommitGroup() | ins.Let() | ins.WaitDots():
                self._issue(work, self.warps)
            case ins.AwaitPartner() | ins.HandOver():
                self._issue(work, self.warps)
            case ins.AwaitPhase() | ins.Arrive() | ins.InitBarriers():
                self._issue(work, 2 * self.warps)
            case ins.SemaphoreWait() | ins.SemaphoreRelease():
                work.waits += 1
        return work

    def control(self, work: Work, instructions: float) -> None:
        """So many instructions of every warp."""
        self._issue(work, instructions * self.warps)

    def wait(self, region: Region) -> float:
        """A region's latency as a share of that of memory: parts of sums are in the cache."""
        cached = region.memory.role is Role.WORKSPACE
        return self.rates.cache_latency / self.rates.latency if cached else 1.0

    # Parts

    def _inside(self, region: Region) -> float:
        """The bytes of a region that a tensor of these sizes has, at its first tile."""
        count = region_bytes(region) * prod(a.count / a.size for a in region.axes if a.limit)
        for axis, extent in zip(region.axes, region.memory.shape, strict=True):
            size = evaluate(extent, self.sizes) if axis.checked else None
            if size is not None and 0 < size < axis.size:
                count *= size / axis.size
        return count

    def _issue(self, work: Work, slots: float, latency: float = 0.0) -> None:
        slots *= _OVERHEAD
        work.slots += slots
        # All warps of a block are about the same at one time.
        work.path += slots * max(_SERIAL / self.warps, 1 / self.rates.issue) + latency

    def _elements(self, value: Value) -> float:
        """Elements over all threads, copies included."""
        layout = value.type.layout
        count = prod(value.type.shape) if layout is None else layout.threads * layout.locals
        return max(float(count), float(self.warps * self.warp) if not value.type.shape else 0.0)

    def _elementwise(self, work: Work, out: Value, op: str) -> None:
        instructions, special = _OPS.get(op, (1.0, 0))
        elements = self._elements(out)
        paired = 0.5 if out.type.dtype.bits == 16 and op not in _OPS else 1.0
        work.special += elements * special
        self._issue(work, elements * instructions * paired / self.warp, _ARITHMETIC_LATENCY)

    def _cast(self, out: Value, x: Value) -> float:
        narrow = min((x.type.dtype, out.type.dtype), key=lambda d: d.bits)
        return self._elements(out) * cast_instructions(narrow) / self.warp

    def _copy(self, work: Work, dst: Region, src: Region, layout: Layout | None) -> None:
        count = self._inside(src)
        width = min(_VECTOR, _run(layout) * src.memory.dtype.bits // 8) if layout else _VECTOR
        _count(work.loaded, src, count)
        work.shared += count
        accesses = count / max(4, width) / self.warp
        self._issue(work, accesses * (1 + _COPY_ADDRESS) + 4 * self.warps)

    def _access(self, work: Work, region: Region, tile: Value, counter: dict[str, float]) -> None:
        bits = region.memory.dtype.bits
        layout = tile.type.layout
        if layout is None and region.memory.role is Role.BUFFER:
            work.shared += region_bytes(region)  # the matrix unit reads it where it lies
            return
        locals_ = layout.locals if layout is not None else 1
        run = _run(layout) if layout is not None else 1
        width = max(bits / 8, min(_VECTOR, run * bits / 8))
        per_thread = locals_ * bits / 8
        if region.memory.role is Role.BUFFER:
            if _in_matrices(layout, bits):
                width = min(_VECTOR, max(width, per_thread))
            held = layout.threads if layout is not None else self.warps * self.warp
            work.shared += per_thread * held
            slots = per_thread / width * self.warps
            self._issue(work, slots * (1 + _SHARED_ADDRESS), _SHARED_LATENCY)
            return
        count = self._inside(region) * _sectors(layout, bits, self.warp)
        _count(counter, region, count)
        if region.memory.role is Role.WORKSPACE:
            work.path += count / _EXCHANGED  # parts are handed on while nothing else is done
        copies = layout.replication if layout is not None and counter is work.stored else 1
        slots = per_thread / width * self.warps / min(copies, self.warps)
        self._issue(work, slots * (1 + _ADDRESS))

    def _convert(self, work: Work, out: Value, x: Value) -> None:
        source, wanted = x.type.layout, out.type.layout
        bits = out.type.dtype.bits
        if source is None or wanted is None or out.type.dtype.is_low_bit or _is_bytes(out):
            return  # bits of packed weights change their place on paper alone
        words = wanted.threads * max(1.0, wanted.locals * bits / 32)
        match conversion(source, wanted, self.warp):
            case Conversion.NONE:
                return
            case Conversion.REGISTERS:
                self._issue(work, words / self.warp * 0.25)
            case Conversion.SHUFFLE:
                work.shared += 4 * words
                self._issue(work, words / self.warp * 2, _SHARED_LATENCY)
            case Conversion.SHARED:
                self._exchange(work, source.elements * max(bits, 8) / 8, 4 * words)

    def _exchange(self, work: Work, written: float, read: float) -> None:
        work.shared += written + read
        self._issue(work, (written + read) / 8 / self.warp, _SHARED_LATENCY)
        work.path += _EXCHANGE * _BARRIER

    def _reduce(self, work: Work, out: Value, x: Value, axis: int) -> None:
        self._issue(work, self._elements(x) / self.warp)
        layout = x.type.layout
        if layout is None:
            return
        lanes, warps = shared_axis(layout, axis, self.warp)
        if lanes > 1:
            steps = log2(lanes)
            slots = 2 * steps * self._elements(out) / self.warp
            work.shared += slots * self.warp * 4
            self._issue(work, slots, steps * _SHARED_LATENCY)
        if warps > 1:
            held = prod(out.type.shape) * 4
            self._exchange(work, held * warps, 4 * self._elements(out) * warps)

    def _dot(self, work: Work, dot: ins.Dot) -> None:
        *batch, m, n = dot.out.type.shape
        k = dot.a.type.shape[-1]
        layout = dot.out.type.layout
        copies = layout.replication if layout is not None else 1
        multiplied = float(prod(batch) * m * n * k)
        work.operations += multiplied
        atom = self.target.atom(dot.atom) if dot.atom else None
        bits = max(dot.a.type.dtype.bits, dot.b.type.dtype.bits)
        rate = self.rates.multiply_adds(dot.atom, bits) if dot.atom else None
        if atom is None or rate is None:
            self._by_threads(work, dot)
            return
        each = atom.m * atom.n * atom.k
        instructions = multiplied * copies / each
        group = atom.threads // self.warp
        cycles = each / rate
        if group > 1:
            # An instruction of a warpgroup takes a few cycles beside those of its columns, and so many
            # at least where it reads registers.
            cycles *= 1 + _READY * _ROWS / (atom.m * atom.n)
            inside = atom.a is not None or atom.b is not None
            cycles = max(cycles, _FROM_REGISTERS if inside else 0.0)
        work.matrix += instructions * cycles
        blocking = dot.atom is not None and self.rates.is_blocking(dot.atom)
        work.slots += instructions * (cycles * self.rates.issue if blocking else group)
        # One warp has a quarter of the units of its multiprocessor.
        work.path += instructions * group / self.warps * cycles * (4 / group) + _CHAIN

    def _by_threads(self, work: Work, dot: ins.Dot) -> None:
        """A product without a unit."""
        done = thread_product(dot, self.warps, self.warp, self.rates.shared)
        dtype, waits = dot.out.type.dtype, _EXCHANGE * _BARRIER * done.slabs
        each = self.rates.issue * self.warp / self.rates.plain_rate(dtype.bits, dtype.is_float)
        casts = sum(self._cast(x, x) for x in (dot.a, dot.b) if x.type.dtype.bits < 32)
        slots = done.multiply_adds * max(1.0, each) + done.others + casts
        work.shared += done.shared
        self._issue(work, slots, waits + done.steps * _SHARED_LATENCY)


def cast_instructions(dtype: DType) -> float:
    """Lane-instructions an element of a cast from or to the narrower of its two dtypes."""
    if dtype.bits > 8:
        return 0.5 if dtype.bits == 16 else 1.0
    return _CASTS[dtype.bits] + (_SMALL_FLOAT if dtype.is_float and dtype.bits < 8 else 0.0)


def region_bytes(region: Region) -> float:
    """The bytes of what a region takes."""
    return prod(a.size for a in region.axes) * region.memory.dtype.bits / 8


def _count(counter: dict[str, float], region: Region, count: float) -> None:
    if region.memory.role is not Role.BUFFER:
        counter[region.memory.name] = counter.get(region.memory.name, 0.0) + count


def _in_matrices(layout: Layout | None, bits: int) -> bool:
    """Whether rows of 16 bytes may be loaded at once: most tiles of 16 bits, fragments of bytes."""
    if bits == 16:
        return layout is None or layout.rank > 1
    return bits == 8 and layout is not None and layout.rank == 2 and divisible(layout, _BYTES)


def _run(layout: Layout) -> int:
    """How many neighbours along one axis a thread holds side by side."""
    run, axis = 1, None
    for mode in reversed(layout.local_modes):
        if mode.stride != run or (axis is not None and mode.axis != axis):
            break
        axis, run = mode.axis, run * mode.size
    return run


def _sectors(layout: Layout | None, bits: int, warp: int, sector: int = 32) -> float:
    """How many times the bytes of the tile are moved, since a sector is moved whole."""
    if layout is None or not layout.shape:
        return 1.0
    axis = len(layout.shape) - 1
    span, whole = _run(layout), 1  # neighbours that a warp takes, and elements of whole axes
    for mode, weight in reversed(with_weights(layout.spatial_modes)):
        if weight >= warp or mode.is_replicated:
            continue
        while axis and span == whole * layout.shape[axis]:
            whole, axis = span, axis - 1  # rows that are taken wholly follow each other
        if mode.axis == axis and mode.stride * whole == span:
            span *= min(mode.size, warp // weight)
    return max(1.0, sector / max(1.0, span * bits / 8)) if layout.shape[-1] > 1 else 1.0


def _is_bytes(value: Value) -> bool:
    return value.type.dtype.name == "u8"


def overlapped(parts: Iterable[float], norm: float = 3.0) -> float:
    """What several units take that overlap, though never wholly: the longest, and a little more."""
    return float(sum(p**norm for p in parts) ** (1 / norm))
