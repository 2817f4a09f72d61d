"""DSL00xx and DSL01xx: the text of a program."""

ENTRIES: dict[str, tuple[str, str]] = {
    "DSL0001": (
        "the source is too large",
        """\
A source has at most 16 MB and its lines at most 65,536 characters. What is larger is not written
by hand and is most often a file of another kind.

Wrong:   dslc check model.safetensors
Right:   dslc check model.tile""",
    ),
    "DSL0002": (
        "the source is not UTF-8",
        """\
Sources are UTF-8 text. The place is that of the first byte that is not.

Wrong:   a file saved as Latin-1 or UTF-16
Right:   the same file saved as UTF-8""",
    ),
    "DSL0003": (
        "the source cannot be read",
        """\
The file does not exist, is a folder, or may not be read; the message says which.

Wrong:   dslc check kernels/
Right:   dslc check kernels/gemm.tile""",
    ),
    "DSL0004": (
        "unknown character",
        """\
The character has no meaning outside strings and comments. Quotes, dashes and spaces copied from a
formatted page look like the plain ones and are not.

Wrong:   y = x ÷ 2
Right:   y = x / 2""",
    ),
    "DSL0005": (
        "a string does not end",
        """\
A string in single quotes ends on its line; one in triple quotes ends at the next triple quotes.

Wrong:   print("value, x)
Right:   print("value", x)""",
    ),
    "DSL0006": (
        "not a number",
        """\
Numbers are written as in Python: 17, 1_000, 0xff, 0o17, 0b101, 1.5, 1e-6. They have no suffixes and
no leading zeros; a dtype comes from the other operand or from `cast`.

Wrong:   x * 2.0f
Right:   x * 2.0""",
    ),
    "DSL0007": (
        "not a string of the language",
        """\
Strings are plain or raw (r"..."): there are no byte strings and no f-strings. Escapes are Python's.

Wrong:   print(f"x = {x}")
Right:   print("x =", x)""",
    ),
    "DSL0008": (
        "tabs and spaces are mixed",
        """\
The indentation of two lines can be compared only if both use tabs and spaces in the same way.

Wrong:   a tab on one line, eight spaces on the next
Right:   four spaces on both""",
    ),
    "DSL0009": (
        "the indentation fits no block",
        """\
A line that ends a block must be indented as the lines of one of the blocks around it.

Wrong:   for i in range(4):
             a = i
           b = i
Right:   for i in range(4):
             a = i
         b = i""",
    ),
    "DSL0010": (
        "a bracket is never closed",
        """\
A line goes on in the next ones while a bracket is open. Where nothing closes it, the bracket itself
is shown, since the place where it should have been closed is not known.

Wrong:   y = exp(x
Right:   y = exp(x)""",
    ),
    "DSL0011": (
        "a closing bracket that fits none",
        """\
Each closing bracket closes the last one that is open, and both are of one kind.

Wrong:   x[i, (j]
Right:   x[i, (j)]""",
    ),
    "DSL0012": (
        "nested too deeply",
        """\
Brackets, blocks and operations may be nested 100 deep. A sum of many terms counts as well, since it
is one operation inside the other.

Wrong:   y = x0 + x1 + ... + x200
Right:   a loop, a reduction, or several statements""",
    ),
    "DSL0013": (
        "unexpected indentation",
        """\
A line is indented more than the one before only after a line that opens a block with a colon.

Wrong:   a = 1
           b = 2
Right:   a = 1
         b = 2""",
    ),
    "DSL0014": (
        "a block is missing",
        """\
After a line that ends in a colon comes an indented block; `pass` is one that does nothing.

Wrong:   if m == 0:
         y = x
Right:   if m == 0:
             y = x""",
    ),
    "DSL0101": (
        "unexpected text",
        """\
The grammar allows something else at this place; the message says what, where that is little.

Wrong:   y = x +
Right:   y = x + 1""",
    ),
    "DSL0102": (
        "a colon is missing",
        """\
The lines that open a block (kernel, program, def, for, while, if, elif, else) end in a colon.

Wrong:   for k in range(0, K, BK)
Right:   for k in range(0, K, BK):""",
    ),
    "DSL0103": (
        "misspelt keyword",
        """\
The first word of the line is no keyword, but nearly one, and the line makes no sense without.

Wrong:   kernal f(x: f32[N]):
Right:   kernel f(x: f32[N]):""",
    ),
    "DSL0104": (
        "a keyword is used as a name",
        """\
Python's keywords and `kernel program const tune require parallel out inout` are reserved; under
the decorator too, since the same body must be valid in a `.tile` file.

Wrong:   out = a + b
Right:   total = a + b""",
    ),
    "DSL0105": (
        "Python has this, the language has not",
        """\
A kernel's body is a part of Python: assignments, loops, conditions, calls and slices. The hint says
what to write instead, where there is something.

Wrong:   c = a @ b
Right:   c = dot(a, b)""",
    ),
    "DSL0106": (
        "cannot assign to this",
        """\
The left side of an assignment is a name, a slice of a tensor or buffer, or several names. `+=` and
its like take one name or one slice.

Wrong:   exp(x) = y
Right:   x = log(y)""",
    ),
    "DSL0107": (
        "wrong order of arguments",
        """\
In a call arguments by position come first, then those by name, each name once.

Wrong:   load(other=0, t[i : i + 8])
Right:   load(t[i : i + 8], other=0)""",
    ),
    "DSL0108": (
        "a statement without effect",
        """\
An expression that stands alone must be a call; the value of anything else is lost, which is most
often a mistyped assignment.

Wrong:   acc == x
Right:   acc = x""",
    ),
    "DSL0109": (
        "a declaration is out of place",
        """\
`const`, `tune` and `require` come first in a kernel; `const` may also stand outside of kernels.
A function has none: it is inlined where it is called.

Wrong:   x = a[0:8]
         const N = 8
Right:   const N = 8
         x = a[0:N]""",
    ),
    "DSL0110": (
        "a return is out of place",
        """\
A function is inlined, so it returns once, as its last statement, and with a value. A kernel returns
nothing: it writes its `out` parameters.

Wrong:   kernel f(x: f32[N]):
             return x[0:8]
Right:   kernel f(x: f32[N], y: out f32[N]):
             y[0:8] = x[0:8]""",
    ),
    "DSL0111": (
        "a parameter is not well formed",
        """\
A parameter of a kernel is `name: type`; the type may have `out` or `inout` before it, and behind it
`strides (a, b)` with a stride for each dim, and `packed row`. A parameter of a `def` is a name, with
a default if wanted. No two have one name.

Wrong:   kernel f(x):
Right:   kernel f(x: f32[N]):""",
    ),
    "DSL0112": (
        "a comma is missing",
        """\
Two values stand side by side inside brackets.

Wrong:   zeros(f32, [BM BN])
Right:   zeros(f32, [BM, BN])""",
    ),
    "DSL0120": (
        "the source of a function cannot be had",
        """\
A decorated function is compiled from its source text. Functions made by `exec` have none, and where
the file has changed since it was loaded the text is no longer that of the function.

Wrong:   exec("@dslc.kernel\\ndef f(...): ...")
Right:   the same lines in a file that is imported""",
    ),
    "DSL0121": (
        "not a plain function",
        """\
Only a function written with `def` can be decorated: no lambda, method, class or async function.

Wrong:   class Model:
             @dslc.kernel
             def norm(self, x: f32[N]): ...
Right:   @dslc.kernel
         def norm(x: f32[N], y: out[f32[N]]): ...""",
    ),
    "DSL0122": (
        "an annotation that is no type",
        """\
Each parameter of a decorated kernel has an annotation, which is read and never executed:
`f16[M, K]`, `out[f16[M, K]]`, `inout[...]`, `strides(f16[M, K], sm, 1)`, `packed(u4[K, N], "row")`, or
a dtype alone for a scalar. There are no defaults, and no *args.

Wrong:   def f(x, y: np.ndarray): ...
Right:   def f(x: f32[N], y: out[f32[N]]): ...""",
    ),
    "DSL0123": (
        "a function calls itself",
        """\
A function that a kernel calls is inlined, so it cannot call itself, neither directly nor through
others.

Wrong:   def power(x, n):
             return x * power(x, n - 1)
Right:   a loop in the kernel""",
    ),
    "DSL0124": (
        "a captured value that cannot be used",
        """\
A decorated kernel may name numbers, strings, dtypes, layouts, plain functions and (in a program)
kernels from outside its body. Other values, arrays above all, are passed as arguments.

Wrong:   w = np.ones(64)
         def f(x: f32[N], ...): y = x[0:64] * w
Right:   def f(x: f32[N], w: f32[N], ...): y = x[0:64] * w[0:64]""",
    ),
    "DSL0125": (
        "a decorator's keyword is no constant",
        """\
A keyword of `@dslc.kernel` is a constant (a number, a bool, a string, a dtype, a layout) or a list
of constants, which are choices to tune.

Wrong:   @dslc.kernel(G=np.ones(4))
Right:   @dslc.kernel(G=128, BM=[16, 64])""",
    ),
}
