"""Views: parts and other shapes of a program's tensors and buffers, where no element moves.

    halves = reshape(x, [2, N])     # strides (N, 1)
    scale(halves[0], y[n : n + N])  # the first begins at 0, the other n elements after y

A view is a memory of its own, with strides and an offset over what it is of. Whether it lies within
that is known when the program is compiled, or is a requirement of its call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dslc.checker.context import Context
from dslc.checker.failure import fail
from dslc.checker.items import Item, describe
from dslc.checker.subscript import expand, index, is_new_axis
from dslc.compiler.analysis.alignment import alignment_of
from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import Kernel, Memory, Requirement, View
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import constant, difference, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, cdiv, div, mod, mul, sub
from dslc.compiler.ir.arithmetic.strides import are_equal, lies_densely, product, strides_of
from dslc.compiler.ir.rewrite import Rewriter, fresh_name, scalar_names
from dslc.compiler.ir.values import ALIGNMENT
from dslc.frontend import tree
from dslc.frontend.printer import print_expression

Lengths = Sequence[ex.Expr]


@dataclass(slots=True)
class Views:
    """The views of one program; `taken` are the names of its memories, `requires` what must hold.

    `when` is the condition of the branch that is elaborated.
    """

    taken: set[str]
    when: ex.Expr | None = None
    views: dict[Memory, View] = field(default_factory=dict)
    requires: list[Requirement] = field(default_factory=list)

    def base(self, memory: Memory) -> Memory:
        """The parameter or buffer that a memory is, or is a view of."""
        return self.views[memory].base if memory in self.views else memory

    def called(self, memory: Memory) -> str:
        """A memory in the user's words."""
        return f"a part of {self.base(memory).name}" if memory in self.views else memory.name

    def part(self, c: Context, memory: Memory, node: tree.Subscript) -> Memory:
        """Slices, and indices that take an axis away: `x[i, a : b]`."""
        offset: ex.Expr = ex.index(0)
        shape: list[ex.Expr] = []
        strides: list[ex.Expr] = []
        axes = iter(zip(memory.shape, strides_of(memory), strict=True))
        for item in expand(node.items, memory.rank, node.loc):
            if is_new_axis(item):
                shape.append(ex.index(1))
                strides.append(ex.index(1))
                continue
            extent, stride = next(axes)
            if not isinstance(item, tree.Slice):
                at = _bound(c, item)
                inside = (ex.index(0), at), (simplify(add(at, 1)), extent)
                self._within(print_expression(node), item.loc, *inside)
                offset = add(offset, mul(at, stride))
                continue
            step = 1
            if item.step is not None:
                step = c.integer(c.evaluate(item.step), item.step.loc, "the step of a slice")
                if step < 1:
                    fail("DSL0212", f"the step of a slice is at least 1, not {step}", item.step.loc)
            start = ex.index(0) if item.start is None else _bound(c, item.start)
            stop = extent if item.stop is None else _bound(c, item.stop)
            within = ((ex.index(0), start), (start, stop), (stop, extent))
            self._within(print_expression(node), item.loc, *within)
            offset = add(offset, mul(start, stride))
            shape.append(simplify(cdiv(sub(stop, start), step)))
            strides.append(simplify(mul(stride, step)))
        return self._view(memory, offset, shape, strides, node.loc)

    def reshaped(self, memory: Memory, items: Sequence[Item], loc: Loc) -> Memory:
        """The same elements in row-major order in another shape; one extent may be -1."""
        old = memory.shape
        new = [index(item, loc) for item in items]
        open_ = [k for k, n in enumerate(new) if constant(n) == -1]
        if len(open_) > 1:
            fail("DSL0203", "only one extent of a shape may be -1", loc)
        text = f"reshape of {self.base(memory).name}"
        if open_:
            others = [n for n in new if constant(n) != -1]
            new[open_[0]] = self._quotient(old, others, text, loc)
        elif not are_equal(old, new):
            elements = ex.Binary("eq", product(old), product(new), BOOL)
            self.holds(elements, text, loc, f"{text}: other numbers of elements")
        strides = _restrided(old, strides_of(memory), new)
        if strides is None:
            hint = "reshape the whole tensor before it is sliced, or let a kernel write a buffer"
            fail("DSL0228", f"{text}: its elements would have to move", loc, hint=hint)
        return self._view(memory, ex.index(0), new, strides, loc)

    def transposed(self, memory: Memory, order: Sequence[int], loc: Loc) -> Memory:
        """Axis i of the result is axis `order[i]`."""
        strides = strides_of(memory)
        shape = [memory.shape[k] for k in order]
        return self._view(memory, ex.index(0), shape, [strides[k] for k in order], loc)

    def _view(
        self, memory: Memory, offset: ex.Expr, shape: Lengths, strides: Lengths, loc: Loc
    ) -> Memory:
        if memory.packed is not None:
            hint = f"declare {memory.name} without `packed`, or pass it whole"
            fail("DSL0228", f"{memory.name} is packed and has no parts", loc, hint=hint)
        base = self.base(memory)
        if base is not memory:
            offset = add(self.views[memory].offset, offset)
        at = simplify(offset)
        for view in self.views.values():
            if (view.base, view.offset) == (base, at) and (
                (view.memory.shape, view.memory.strides) == (tuple(shape), tuple(strides))
            ):
                return view.memory
        made = replace(
            base,
            name=fresh_name(f"{base.name}_1", self.taken),
            shape=tuple(shape),
            strides=tuple(strides),
            align=None if (begins := alignment_of(base, at, {})) == ALIGNMENT else begins,
            loc=loc,
        )
        self.views[made] = View(made, base, at)
        return made

    def _quotient(self, old: Lengths, new: Lengths, text: str, loc: Loc) -> ex.Expr:
        """The extent that is left for an axis, which must be whole."""
        total, known = product(old), product(new)
        rest = simplify(div(total, known))
        if not are_equal((rest, known), (total,)):
            whole = ex.Binary("eq", mod(total, known), ex.index(0), BOOL)
            self.holds(whole, text, loc, f"{text}: other numbers of elements")
        return rest

    def _within(self, text: str, loc: Loc, *pairs: tuple[ex.Expr, ex.Expr]) -> None:
        """Each pair is in order; DSL0228 where one is known not to be."""
        for low, high in pairs:
            gap = difference(high, low)
            if gap is not None and gap < 0:
                hint = "a program's slices lie within their tensor: 0 <= a <= b <= its extent"
                fail("DSL0228", f"{text} is not within the tensor", loc, hint=hint)
            if gap is None and not (constant(low) == 0 and _is_natural(high)):
                inside = f"{text} within the tensor"
                self.holds(ex.Binary("le", low, high, BOOL), inside, loc, inside)

    def holds(self, condition: ex.Expr, text: str, loc: Loc, failed: str) -> None:
        """Require what is not known; DSL0203 with `failed` for what is known to be wrong.

        In a branch it is required where that is taken.
        """
        truth = constant(condition)
        if truth is not None and not truth:
            fail("DSL0203", failed, loc)
        if truth is None and self.when is not None:
            condition = ex.Binary("or", negated(self.when), condition, BOOL)
        if truth is None and all(r.condition != condition for r in self.requires):
            self.requires.append(Requirement(condition, text, loc))


def negated(condition: ex.Expr) -> ex.Expr:
    """Whether a condition does not hold."""
    return simplify(ex.Unary("not", condition, BOOL))


def with_strides(kernel: Kernel, given: Sequence[Memory | ex.Expr]) -> Kernel:
    """The kernel over tensors that lie as what a call gives for them does.

    A stride that is not known becomes a dim of the kernel.
    """
    taken = scalar_names(kernel) | {p.name for p in kernel.params}
    moved: dict[Memory, Memory] = {}
    dims: list[ex.Var] = []
    for param, arg in zip(kernel.params, given, strict=True):
        if not isinstance(param, Memory) or not isinstance(arg, Memory) or arg.strides is None:
            continue
        new = replace(param, align=arg.align)
        if param.strides is None and not lies_densely(arg):
            hint = f"{param.name}_step"
            free = {
                k: ex.Var(fresh_name(hint, taken), INDEX)
                for k, s in enumerate(arg.strides)
                if constant(s) is None
            }
            dims += free.values()
            new = replace(new, strides=tuple(free.get(k, s) for k, s in enumerate(arg.strides)))
        moved[param] = new
    if not moved:
        return kernel
    return replace(_Moved(moved).kernel(kernel), dims=(*kernel.dims, *dims))


class _Moved(Rewriter):
    def __init__(self, memories: dict[Memory, Memory]) -> None:
        super().__init__()
        self._memories.update(memories)


def _bound(c: Context, node: tree.Expr) -> ex.Expr:
    """A bound of a slice: an integer scalar of the program, not below 0."""
    item = c.evaluate_index(node)
    if isinstance(item, Memory):
        fail("DSL0212", f"a subscript is an integer, not {describe(item)}", node.loc)
    at = index(item, node.loc)
    known = constant(at)
    if known is not None and known < 0:
        hint = "count from the front: x[N - 4 : N]"
        fail("DSL0228", "a program's slices do not count from the end", node.loc, hint=hint)
    return at


def _is_natural(expr: ex.Expr) -> bool:
    """Whether an index follows from dims, constants and products of these alone: it is not below 0."""
    match expr:
        case ex.Const(value=value):
            return value >= 0
        case ex.Binary(op="add" | "mul" | "floordiv" | "min" | "max", x=x, y=y):
            return _is_natural(x) and _is_natural(y)
    return isinstance(expr, ex.Var) and expr.dtype == INDEX


def _restrided(old: Lengths, strides: Lengths, new: Lengths) -> list[ex.Expr] | None:
    """The strides of another shape, or None where elements would not lie at equal distances.

    Axes that stay at the front and at the back keep theirs; what is between must lie without gaps.
    """
    front = 0
    while front < min(len(old), len(new)) and are_equal((old[front],), (new[front],)):
        front += 1
    most = min(len(old), len(new)) - front
    back = 0
    while back < most and are_equal((old[-1 - back],), (new[-1 - back],)):
        back += 1
    inner = range(front, len(old) - back)
    if any(not are_equal((strides[k],), (strides[k + 1], old[k + 1])) for k in inner[:-1]):
        return None
    step = strides[inner[-1]] if inner else ex.index(1)
    middle = new[front : len(new) - back]
    between = [product([step, *middle[k + 1 :]]) for k in range(len(middle))]
    return [*strides[:front], *between, *strides[len(old) - back :]]
