"""The layout algebra: which thread holds which element of a tile, and where.

A *layout* of a tile of shape (n_1, ..., n_r) is a function f(t, i): element number i of thread t is
the tile's element at that logical index. "Thread" is any spatial unit: a lane of a GPU, a partition
of Trainium, a core or a vector lane. Memory is a layout with one thread, whose i is the address.

Two kinds of layouts are the atoms (`primitives`):

    local(2, 3)    one thread holds all six elements    f(0, i) = (i // 3, i % 3)
    spatial(2, 3)  six threads hold one element each    f(t, 0) = (t // 3, t % 3)

and composition (`composition`) builds all others: in f * g, written f.g in the language, each element
of f's tile becomes a tile of g, so the factor on the right varies fastest:

    h(t, i) = f(t // T_g, i // m_g) * S_g + g(t % T_g, i % m_g)

for a g with T_g threads, m_g elements a thread and shape S_g. The operand C of a tensor core's
m16n8k16 is local(2, 1).spatial(8, 4).local(1, 2): a thread holds two neighbours in a row, 8 x 4 threads
make an 8 x 8 tile, and two such tiles stand above each other. Composition is associative and local(1)
is its identity; `/` undoes it (`division`).

*Modes* make this computable (`mode`): t and i are read as mixed-radix numbers whose digits each move
the index by a step along one axis. All digits of an axis together count its elements once. Composition
writes the digits of g below those of f; merging neighbours that step alike gives a form that is the
same for equal functions. A *replicated* digit of t moves nothing: its threads hold copies. A *swizzle*
(`swizzles`) is a xor of one digit of the index by another on top, as memory needs it against bank
conflicts.

Operators: `composition` (compose, product, concat, broadcast), `division` (divide, left_divide,
complement), `inversion` (inverse, locate, owners), `reshaping` (permute, reshape, squeeze, unsqueeze,
reduce, slice), `swizzling`. Questions: `access` (contiguity, vector width), `banks` (bank conflicts),
`conversions` (what brings a tile from one layout to another). `parsing` and `printing` are the text,
`drawing`, `svg` and `describing` show layouts.

The algebra is that of the Tilus paper (sections 4, 6.2, Appendices A and B.1).
"""

from dslc.compiler.layout.access import addresses, bits_per_thread, contiguity, vector_width
from dslc.compiler.layout.banks import BankAccess, BankModel, Conflicts, bank_conflicts
from dslc.compiler.layout.composition import broadcast, compose, concat, product
from dslc.compiler.layout.conversions import Conversion, conversion
from dslc.compiler.layout.describing import compare, describe
from dslc.compiler.layout.division import complement, divide, divisible, left_divide
from dslc.compiler.layout.drawing import render_text
from dslc.compiler.layout.inversion import inverse, locate, locations, owners
from dslc.compiler.layout.layout import Layout
from dslc.compiler.layout.mode import Mode
from dslc.compiler.layout.parsing import (
    LAYOUT_FUNCTIONS,
    call_layout_function,
    chain_layout,
    parse_layout,
)
from dslc.compiler.layout.primitives import (
    column_local,
    column_spatial,
    local,
    modes,
    replicate,
    spatial,
)
from dslc.compiler.layout.reshaping import (
    permute,
    reduce,
    reshape,
    slice_tile,
    squeeze,
    unsqueeze,
)
from dslc.compiler.layout.svg import render_svg
from dslc.compiler.layout.swizzles import Swizzle
from dslc.compiler.layout.swizzling import swizzle

__all__ = [
    "LAYOUT_FUNCTIONS", "BankAccess", "BankModel", "Conflicts", "Conversion", "Layout", "Mode",
    "Swizzle", "addresses", "bank_conflicts", "bits_per_thread", "broadcast", "call_layout_function",
    "chain_layout", "column_local", "column_spatial", "compare", "complement", "compose", "concat",
    "contiguity", "conversion", "describe", "divide", "divisible", "inverse", "left_divide", "local",
    "locate", "locations", "modes", "owners", "parse_layout", "permute", "product", "reduce",
    "render_svg", "render_text", "replicate", "reshape", "slice_tile", "spatial", "squeeze", "swizzle",
    "unsqueeze", "vector_width",
]  # fmt: skip
