"""Where a relation gives a layout, the statement finds in each thread what it needs."""

from __future__ import annotations

from dslc.compiler.dtypes import F32
from dslc.compiler.ir import TileType, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout, Mode
from dslc.compiler.layout.mode import replicated
from dslc.compiler.passes.layouts.blocked import blocked, vector_of
from dslc.compiler.passes.layouts.relations import operand_layout, result_layout
from hypothesis import given, settings
from hypothesis import strategies as st

THREADS = 32


@st.composite
def over_threads(draw: st.DrawFn, shape: tuple[int, ...]) -> Layout:
    """A layout of the shape over 32 threads, its digits in any order."""
    digits = []
    for axis, extent in enumerate(shape):
        stride, rest = 1, extent
        while rest > 1:
            size = 2 if rest % 2 == 0 else rest
            digits.append(Mode(size, axis, stride))
            stride, rest = stride * size, rest // size
    digits = list(draw(st.permutations(digits)))
    spatial: list[Mode] = []
    free = THREADS
    while digits and draw(st.booleans()) and free % digits[-1].size == 0:
        spatial.append(digits.pop())
        free //= spatial[-1].size
    spatial.insert(draw(st.integers(0, len(spatial))), replicated(free))
    return Layout(shape, tuple(spatial), tuple(digits))


def tile(*shape: int) -> Value:
    return Value(TileType(F32, shape))


def held(layout: Layout, thread: int) -> set[tuple[int, ...]]:
    return {layout.index(thread, i) for i in range(layout.locals)}


def assert_nothing_moves(stmt, x: Layout, out: Layout, source) -> None:
    """Each thread holds the operand's elements that its result's elements come from."""
    assert x.threads == out.threads == THREADS
    for t in range(THREADS):
        assert {source(index) for index in held(out, t)} <= held(x, t)


@given(st.data())
@settings(max_examples=30)
def test_broadcast(data: st.DataObject) -> None:
    out = data.draw(over_threads((4, 8, 6)))
    small = data.draw(st.sampled_from([(6,), (8, 6), (8, 1), (1, 8, 6), (4, 1, 6), (1, 1, 1), ()]))
    x = tile(*small)
    layout = operand_layout(ins.Broadcast(tile(4, 8, 6), x), x, out)
    assert layout is not None
    assert layout.shape == small

    def source(index: tuple[int, ...]) -> tuple[int, ...]:
        own = index[3 - len(small) :]
        return tuple(0 if n == 1 else i for i, n in zip(own, small, strict=True))

    assert_nothing_moves(None, layout, out, source)


@given(st.data())
@settings(max_examples=30)
def test_transpose_both_ways(data: st.DataObject) -> None:
    axes = tuple(data.draw(st.permutations(range(3))))
    x = tile(4, 8, 6)
    stmt = ins.Transpose(tile(*(x.type.shape[a] for a in axes)), x, axes)
    out = data.draw(over_threads(stmt.out.type.shape))
    layout = operand_layout(stmt, x, out)
    assert layout is not None

    def source(index: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(index[axes.index(d)] for d in range(3))

    assert_nothing_moves(stmt, layout, out, source)
    assert result_layout(stmt, layout) == out


@given(st.data())
@settings(max_examples=40)
def test_repeat(data: st.DataObject) -> None:
    axis, times = data.draw(st.sampled_from([0, 1])), data.draw(st.sampled_from([2, 4, 6]))
    x = tile(4, 4)
    shape = (4 * times, 4) if axis == 0 else (4, 4 * times)
    out = data.draw(over_threads(shape))
    layout = operand_layout(ins.Repeat(tile(*shape), x, times, axis), x, out)
    if layout is None:
        return

    def source(index: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(i // times if d == axis else i for d, i in enumerate(index))

    assert_nothing_moves(None, layout, out, source)


def test_repeat_of_a_matrix_operand_is_a_renaming() -> None:
    from dslc.compiler.targets.cuda import MMA_M16N8K16

    assert MMA_M16N8K16.b is not None
    x = tile(1, 8)
    assert operand_layout(ins.Repeat(tile(16, 8), x, 16, 0), x, MMA_M16N8K16.b) is not None


@given(st.data())
@settings(max_examples=30)
def test_reshape_both_ways(data: st.DataObject) -> None:
    x, flat = tile(4, 8, 4), tile(128)
    layout = data.draw(over_threads((4, 8, 4)))
    result = result_layout(ins.Reshape(flat, x), layout)
    assert result is not None
    assert_nothing_moves(None, layout, result, lambda i: (i[0] // 32, i[0] // 4 % 8, i[0] % 4))
    assert operand_layout(ins.Reshape(flat, x), x, result) in (layout, None)


@given(st.data())
@settings(max_examples=40)
def test_extract_and_concat(data: st.DataObject) -> None:
    whole = data.draw(over_threads((8, 4)))
    start = data.draw(st.sampled_from([0, 4]))
    part = tile(4, 4)
    layout = result_layout(ins.Extract(part, tile(8, 4), (start, 0), (1, 1)), whole)
    if layout is not None:
        assert_nothing_moves(None, whole, layout, lambda i: (i[0] + start, i[1]))
    other = tile(4, 4)
    found = operand_layout(ins.Concat(tile(8, 4), (part, other), 0), other, whole)
    if found is not None:
        for t in range(THREADS):
            asked = {(i - 4, j) for i, j in held(whole, t) if i >= 4}
            assert asked <= held(found, t)


@given(
    st.lists(st.sampled_from([1, 2, 3, 4, 8, 24, 64, 100]), max_size=3),
    st.sampled_from([32, 64, 128, 256]),
    st.sampled_from([4, 8, 16, 32, 64]),
    st.sampled_from([None, 32]),
    st.data(),
)
@settings(max_examples=60)
def test_blocked_layouts_have_the_threads_and_the_run(
    shape: list[int], threads: int, bits: int, most: int | None, data: st.DataObject
) -> None:
    axis = data.draw(st.sampled_from([None, *range(len(shape))]))
    along = len(shape) - 1 if axis is None else axis
    vector = vector_of(shape[along], bits) if shape else 1
    layout = blocked(shape, threads, vector, axis, most)
    assert layout.threads == threads
    assert layout.shape == tuple(shape)
    if shape:
        first = [layout.index(0, i)[along] for i in range(vector)]
        assert first == list(range(vector))
        assert vector * bits <= 128 or vector == 1
