"""DSL02xx: names, types and shapes."""

ENTRIES: dict[str, tuple[str, str]] = {
    "DSL0201": (
        "unknown name",
        """\
A name is read that nothing has defined: no parameter, dim, constant, assignment above, function
or dtype has it.

Wrong:   y = ex(x)
Right:   y = exp(x)""",
    ),
    "DSL0202": (
        "two dtypes meet",
        """\
Elementwise operations, stores and dot take operands of one dtype; nothing converts by itself, since
a conversion may lose bits or cost instructions. Plain numbers and index scalars (dims, loop
variables) take the dtype of what they meet.

Wrong:   acc[f32] + x[f16]
Right:   acc + cast(x, f32)""",
    ),
    "DSL0203": (
        "shapes do not fit",
        """\
Shapes meet as in NumPy: aligned on the right, extents equal or 1. Reshaping keeps the number of
elements.

Wrong:   a[64, 32] + b[64]
Right:   a + b[:, None]""",
    ),
    "DSL0204": (
        "a tile's extent is not a positive constant",
        """\
A tile has a shape known at compile time, so the difference of the two ends of a slice must be a
constant after simplification, and at least 1.

Wrong:   x[i : j]
Right:   x[i : i + BM]""",
    ),
    "DSL0205": (
        "wrong arguments of a function",
        """\
A function was given too many or too few arguments, one twice, or a keyword that it does not have.
The hint shows its parameters.

Wrong:   zeros(f32)
Right:   zeros(f32, [BM, BN])""",
    ),
    "DSL0206": (
        "must be known at compile time",
        """\
Shapes, axes, dtypes, layouts, constants and tuning choices decide the code that is generated and so
must be constants: numbers, const, tune, fixed dims, and arithmetic of these.

Wrong:   zeros(f32, [m, BN])       # m is a loop variable
Right:   zeros(f32, [BM, BN])""",
    ),
    "DSL0207": (
        "a dim whose value cannot be found",
        """\
A dim is bound at the call by a tensor that has it as the whole extent of an axis. A dim that stands
only inside an expression cannot be solved for.

Wrong:   kernel k(s: f16[K // 128, N], ...)        # no tensor has an axis K
Right:   give a tensor an axis K, or fix it with -D K=4096""",
    ),
    "DSL0208": (
        "a loop changes the type of what it carries",
        """\
A name that is assigned in a loop and read again in the next iteration, or after the loop, is carried:
it must have the same dtype and shape before the loop and after each iteration.

Wrong:   acc = 0.0
         for k in range(0, K, BK): acc = acc + a[...]      # a number, then a tile
Right:   acc = zeros(f32, [BM, BK])""",
    ),
    "DSL0209": (
        "a name that may have no value",
        """\
The name is assigned only in one branch of an if, or only inside a loop, which may run no iteration at
all. Give it a value before.""",
    ),
    "DSL0210": (
        "a tile where a scalar is needed",
        """\
if, while, assert, and, or, not and `a if c else b` decide one thing for the whole turn and take
scalars. Elements are chosen with where(cond, a, b) and combined with & | ~; any and all reduce a tile
of bools to a scalar.

Wrong:   if x > 0: y = x
Right:   y = where(x > 0, x, 0)""",
    ),
    "DSL0211": (
        "a parameter used against its direction",
        """\
A parameter without `out` or `inout` is read only; an `out` parameter is written only: its elements
are undefined when the kernel begins. Scalars are never written.

Wrong:   kernel k(x: f16[N]): x[0:8] = ...
Right:   kernel k(x: inout f16[N]): ...""",
    ),
    "DSL0212": (
        "a subscript that cannot be",
        """\
A tensor takes an integer, a slice or a tile of integers per axis; `...` and axes left out mean `:`.
Tiles are sliced by constants, and their elements chosen by tiles of integers. A mask is none of these.

Wrong:   x[x[0:64] > 0.0]
Right:   load(x[0:64], where=mask)""",
    ),
    "DSL0213": (
        "dot of tiles that do not fit",
        """dot multiplies [.., m, k] by [.., k, n]: two axes or more, the inner extents equal.

Wrong:   dot(a[16, 64], b[32, 128])
Right:   dot(a[16, 64], b[64, 128])""",
    ),
    "DSL0214": (
        "an operation that the dtype does not have",
        """\
Floats of 8 bits and fewer, e8m0 and tf32 are for loads, stores, casts, views and dot. Integers are
divided with //; bools know & | ^ ~ and comparisons; floats have no bitwise operations.

Wrong:   x / 2          # x: i32
Right:   x // 2, or cast(x, f32) / 2""",
    ),
    "DSL0215": (
        "misuse of parallel, grid or range",
        """\
A kernel has at most one parallel nest, outermost, with nothing after it and only scalars before it;
or grid(x, y) as its first statement. A for loop goes over range(...) with integer bounds.

Wrong:   for m in parallel(range(0, M, BM)):
             for n in parallel(range(0, N, BN)): ...
Right:   for m, n in parallel(range(0, M, BM), range(0, N, BN)): ...""",
    ),
    "DSL0216": (
        "an assignment or declaration that cannot be",
        """\
Declarations (const, tune, require) come first in a kernel; a name is declared once; dims, tensors and
buffers keep their names. Tiles are values and are not written in part: use a buffer or where.""",
    ),
    "DSL0217": (
        "a condition that never holds",
        """\
A require or an assert was decided at compile time, and it fails for these constants, choices and
fixed dims.""",
    ),
    "DSL0218": (
        "not one of the choices of a tune",
        """\
A tune takes one of the values that the kernel lists. Add the value to the list if the kernel is right
with it: tune BM = 16 | 64 | 96.""",
    ),
    "DSL0219": (
        "a call or expression that does nothing or cannot be called",
        """\
Only functions are called; an expression stands alone only if it has an effect.

Wrong:   f16(x)
Right:   cast(x, f16)""",
    ),
    "DSL0221": (
        "an import that cannot be found",
        """\
`from path import name` reads path.tile beside the importing file or in a folder given with -I; dots
are folders. Files that import each other in a circle cannot be loaded.""",
    ),
    "DSL0222": (
        "a layout that does not fit",
        """\
The shape of a layout is the shape of its tile. A memory's layout has one thread: it maps addresses to
elements, so it is built of local layouts.""",
    ),
    "DSL0223": (
        "a tile that does not fit the region it is written to",
        """\
What is stored must broadcast to the region: extents equal or 1, no more axes than the region has.""",
    ),
    "DSL0224": (
        "a number out of range",
        """\
The number does not fit the dtype that it takes, or a size, step or option is not in its range.

Wrong:   x + 300        # x: u8
Right:   cast(x, i16) + 300""",
    ),
    "DSL0225": (
        "a define that names nothing",
        """\
-D NAME=VALUE (or define={...}) fixes a dim, overrides a const or chooses a tune; nothing in the
file
has this name.""",
    ),
    "DSL0226": (
        "an axis that does not exist",
        """\
Axes count from 0, or from the end with -1. An order of axes names each axis once.""",
    ),
    "DSL0227": (
        "misuse of print or assert",
        """\
print takes a text first and then scalars and tiles; assert takes a scalar condition and a text.""",
    ),
    "DSL0228": (
        "misuse of a program",
        """\
A program holds buffers, parts of tensors, scalars and calls of kernels, in order; a kernel is called
only in a program. What a call reads must have been given or written by an earlier call, on every way to
it. Loops are written out when the program is compiled, over numbers and lists. A part lies within its
tensor, and a reshaped one has its elements at equal distances: none moves.

Wrong:   while n > 3: scale(x[n - 4 : -1], y)
Right:   if n > 3: scale(x[n - 4 : n], y)""",
    ),
    "DSL0229": (
        "recursion, or nesting that is too deep",
        """\
Functions are inlined, so they cannot call themselves; expressions have a limit of nesting.""",
    ),
    "DSL0230": (
        "a dim must be fixed",
        """\
The dim decides the shape of a tile, so a kernel is made for each of its values. At a call it is taken
from the arguments; ahead of time it is given: -D H=4096. Loop over blocks of constant size instead to
keep the dim free.""",
    ),
    "DSL0231": (
        "a view of bits that do not fit",
        """\
view(x, dtype, layout) reinterprets the bits that each thread holds: both layouts have the same
number
of threads, and bits times elements per thread agree. The tile must have a layout: load it with
layout=...""",
    ),
    "DSL0232": (
        "functions that come to too much",
        """\
Calls are replaced by the bodies of functions. Where each function calls another one twice, a few lines
double to millions of statements; a kernel may have ten thousand of them.

Wrong:  def f(x):
            return g(x) + g(x)
Right:  def f(x):
            y = g(x)
            return y + y""",
    ),
    "DSL0233": (
        "one row of scales for several groups",
        """\
`s[k // G]` is the group of the element k. Multiplied with a block of more elements than lie in the
group from k on, it scales the next groups' elements too. A block lies within a group where its size
divides G: say so by `require G % BK == 0`, or take rows for each group of the block and repeat them.

Warned: for k in range(0, K, 256):
            w = x[k : k + 256] * s[k // 128]
Right:  for k in range(0, K, 128):
            w = x[k : k + 128] * s[k // 128]""",
    ),
    "DSL0234": (
        "a source without kernels",
        """\
There is nothing to check: functions and constants are elaborated where a kernel uses them. A file that
others import from is right so; one that is empty by mistake is not.""",
    ),
    "DSL0235": (
        "a function over an axis that gives another type",
        """\
scan and reduce apply a function to what lies before and what lies behind, and then to its own results:
it gives a tile of the dtype and shape that it takes, and of a list of tiles as many. It works element
by element, on parts of the axis of any length, and is associative: f(f(a, b), c) is f(a, f(b, c)).

Wrong:  def best(a, b):                # of [values, places]
            return maximum(a[0], b[0])
Right:  def best(a, b):
            take = b[0] > a[0]
            return [where(take, b[0], a[0]), where(take, b[1], a[1])]""",
    ),
    "DSL0236": (
        "a tune whose values nothing says",
        """\
`tune BM` leaves the values to the machine where BM is the step of a range: the rows, columns or depth
of a tile. Any other choice has its values written.

Wrong:  tune SPLIT
Right:  tune SPLIT = 1 | 2 | 4""",
    ),
    "DSL0237": (
        "a function over an axis that is not associative",
        """\
scan and reduce group the elements of an axis as suits the machine, so that f(f(a, b), c) must be
f(a, f(b, c)). `dslc check` and editors try the function on 64 positive samples of its types: both
groupings gave different numbers for the states that the message shows, by more than rounding makes. A
function that is associative for the states of the program, but not for these, is right all the same.

Warned: def apart(a, b):
            return a - b
Right:  def total(a, b):
            return a + b""",
    ),
    "DSL0238": (
        "misuse of a list of tensors",
        """\
A list of tensors has one type and a length of 1 to 64, a number or a constant of the kernel. Its items
are chosen by what is known when the kernel is compiled: numbers, and the counters of static loops. A
dim that stands in lists alone is one for each item.

Wrong:  kernel k(xs: list[f32, 4])
Right:  kernel k(xs: list[f32[N], 4])""",
    ),
}
