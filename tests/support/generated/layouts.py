"""Random layouts: `st.from_type(Layout)` draws chains of primitives, with copies and swizzles."""

from functools import reduce

from dslc.compiler.layout import (
    Layout,
    column_local,
    column_spatial,
    local,
    permute,
    replicate,
    spatial,
    swizzle,
)
from hypothesis import strategies as st

LARGEST = 400
EXTENT = st.sampled_from([1, 1, 2, 2, 3, 4])


@st.composite
def primitives(draw, rank):
    shape = draw(st.lists(EXTENT, min_size=rank, max_size=rank))
    kind = draw(st.sampled_from([local, spatial, column_local, column_spatial, replicate]))
    layout = replicate(draw(st.integers(1, 3)), rank) if kind is replicate else kind(*shape)
    if rank == 3 and draw(st.booleans()):
        layout = permute(layout, draw(st.permutations(range(rank))))
    return layout


@st.composite
def layouts(draw):
    rank = draw(st.integers(1, 3))
    factors = draw(st.lists(primitives(rank), min_size=1, max_size=4))
    f = reduce(_within, factors)
    if rank > 1 and draw(st.integers(0, 2)) == 0:
        dim = draw(st.integers(0, rank - 1))
        step = draw(st.integers(0, 1))
        source = dim - 1 if dim else 1
        odd_steps = f.shape[source] > 1 << step and f.shape[source] % (1 << step)
        if f.shape[dim] % 2 == 0 and not odd_steps:
            f = swizzle(f, dim, step)
        f = _within(f, draw(primitives(rank)))
    return f


def _within(f: Layout, g: Layout) -> Layout:
    """f * g unless that is too large to enumerate in a moment."""
    return f if f.threads * f.locals * g.threads * g.locals > LARGEST else f * g


st.register_type_strategy(Layout, layouts())
