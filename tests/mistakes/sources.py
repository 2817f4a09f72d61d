"""Mistakes that people make: each an edit of a right source, with what is to be said of it.

(name, what is replaced, by what, code, line, what the hint or the message must have)
"""

from __future__ import annotations

RIGHT = '''\
"""Scaled codes, and a product."""

const T = f16
const G = 32

def gain(x, by=2.0):
    return x * by

kernel scale(w: u4[K, N], s: f16[K, N], b: f32[N], y: out f16[K, N]):
    """y = w * s + b."""
    tune BK = 32 | 64
    tune BN = 64 | 128

    for k, n in parallel(range(0, K, BK), range(0, N, BN)):
        codes = w[k : k + BK, n : n + BN]
        scales = s[k : k + BK, n : n + BN]
        bias = b[n : n + BN]
        values = cast(codes, T) * scales
        total = cast(values, f32) + bias[None, :]
        y[k : k + BK, n : n + BN] = cast(gain(total), f16)

kernel product(a: f16[M, K], b: f16[K, N], last: i32, c: out f32[M, N]):
    require K % 32 == 0

    for m, n in parallel(range(0, M, 16), range(0, N, 64)):
        acc = zeros(f32, [16, 64])
        for k in range(0, K, 32):
            rows = a[m : m + 16, k : k + 32]
            columns = b[k : k + 32, n : n + 64]
            acc += dot(rows, columns)
        if last > 0:
            acc = maximum(acc, 0.0)
        c[m : m + 16, n : n + 64] = acc

program both(w: u4[K, N], s: f16[K, N], b: f32[N], a: f16[M, K], last: i32, c: out f32[M, N]):
    t = buffer(f16, [K, N])
    scale(w, s, b, t)
    product(a, t, last, c)
'''

MISTAKES = [
    (
        "a function's name",
        "zeros(f32",
        "zeroes(f32",
        "DSL0201",
        26,
        "did you mean `zeros`?",
    ),
    (
        "a variable's name",
        "* scales",
        "* scale_s",
        "DSL0201",
        18,
        "did you mean `scales`?",
    ),
    (
        "a colon is missing",
        "for k in range(0, K, 32):",
        "for k in range(0, K, 32)",
        "DSL0102",
        27,
        "the body follows a colon",
    ),
    (
        "indentation too deep",
        "        bias = b",
        "          bias = b",
        "DSL0013",
        17,
        "begin it where the line before begins;",
    ),
    (
        "codes without a cast",
        "cast(codes, T) * scales",
        "codes * scales",
        "DSL0202",
        18,
        "write cast(..., f16), and before any",
    ),
    (
        "extents of a product",
        "k : k + 32, n : n + 64",
        "k : k + 16, n : n + 64",
        "DSL0213",
        30,
        'they fit with dot(a, b, transposed="a")',
    ),
    (
        "axes the wrong way round",
        "a[m : m + 16, k : k + 32]",
        "a[k : k + 32, m : m + 16]",
        "DSL0213",
        30,
        'they fit with dot(a, b, transposed="a")',
    ),
    (
        "an unknown dtype",
        "s: f16[K, N], b: f32[N], y",
        "s: f17[K, N], b: f32[N], y",
        "DSL0201",
        9,
        "did you mean `f16`?",
    ),
    (
        "a dtype of nine bits",
        "kernel scale(w: u4",
        "kernel scale(w: u9",
        "DSL0201",
        9,
        "integers have 1 to 8, 16, 32 or 64",
    ),
    (
        "an input is written",
        "y: out f16[K, N]",
        "y: f16[K, N]",
        "DSL0211",
        20,
        "declare it y: out f16[...] (or inout)",
    ),
    (
        "a tile as a condition",
        "if last > 0:",
        "if acc > 0:",
        "DSL0210",
        31,
        "choose per element with where(cond, a,",
    ),
    (
        "an f-string",
        '"""y = w * s + b."""',
        'f"y"',
        "DSL0007",
        10,
        "write a plain string; `print` takes",
    ),
    (
        "a comprehension",
        "bias = b[n : n + BN]",
        "bias = [i for i in b]",
        "DSL0105",
        17,
        "write a `for` loop, or an operation on",
    ),
    (
        "an output is read",
        "bias = b[n : n + BN]",
        "bias = y[k : k + BK, n : n + BN]",
        "DSL0211",
        17,
        "declare it y: inout f16[...]",
    ),
    (
        "NumPy's name",
        "zeros(f32, [16, 64])",
        "np.zeros(f32, [16, 64])",
        "DSL0201",
        26,
        "write zeros(...)",
    ),
    (
        "the operator @",
        "dot(rows, columns)",
        "rows @ columns",
        "DSL0105",
        30,
        "write `dot(a, b)` for the matrix product",
    ),
    (
        "tabs",
        "        bias = b",
        "\tbias = b",
        "DSL0008",
        17,
        "indent with spaces only",
    ),
    (
        "typographic quotes",
        '"""y = w * s + b."""',
        "“y”",
        "DSL0004",
        10,
        'write a straight quote: "',
    ),
    (
        "a keyword misspelt",
        "kernel product(",
        "kernal product(",
        "DSL0103",
        22,
        "did you mean `kernel`?",
    ),
    (
        "an open bracket",
        "cast(values, f32) +",
        "cast(values, f32 +",
        "DSL0010",
        19,
        "write the `)` that belongs to it",
    ),
    (
        "a parameter twice",
        "b: f32[N], y:",
        "s: f32[N], y:",
        "DSL0111",
        9,
        "rename one",
    ),
    (
        "an accumulator of 16 bits",
        "zeros(f32, [16, 64])",
        "zeros(f16, [16, 64])",
        "DSL0202",
        30,
        "write cast(..., f16) or cast(..., f32)",
    ),
    (
        "a tile too large",
        "zeros(f32, [16, 64])",
        "zeros(f32, [65536, 65536])",
        "DSL0204",
        26,
        "the limit is 16777216: walk over it in",
    ),
    (
        "return from a kernel",
        "        bias = b[n : n + BN]\n",
        "        bias = b[n : n + BN]\n        return\n",
        "DSL0110",
        18,
        "a function ends with `return x`; a",
    ),
    (
        "an axis lost",
        "bias[None, :]",
        "bias[:, None]",
        "DSL0203",
        19,
        "sizes must be equal or 1; add an axis",
    ),
    (
        "or as ||",
        "if last > 0:",
        "if last > 0 || last < 3:",
        "DSL0105",
        31,
        "write `or`",
    ),
    (
        "division by a const of 0",
        "tune BK = 32 | 64",
        "const Z = 0\n    tune BK = 32 // Z | 64",
        "DSL0224",
        12,
        "give the divisor a value",
    ),
    (
        "a layout of fewer elements",
        "w[k : k + BK, n : n + BN]",
        "load(w[k : k + BK, n : n + BN], layout=spatial(4, 8))",
        "DSL0222",
        15,
        "make it larger by factors of local(...)",
    ),
    (
        "a requirement that no choice meets",
        "    tune BN = 64 | 128\n",
        "    tune BN = 64 | 128\n    require BN % 256 == 0\n",
        "DSL0217",
        13,
        "broken are BN = 64: BN % 256 == 0; BN =",
    ),
    (
        "a requirement of dims alone",
        "require K % 32 == 0",
        "require K % == 0",
        "DSL0101",
        23,
        "a value stands on both sides of a",
    ),
    (
        "a range without its end",
        "range(0, K, 32)",
        "range()",
        "DSL0205",
        27,
        "range(stop), range(start, stop) or with",
    ),
    (
        "a step of 0",
        "range(0, K, 32)",
        "range(0, K, 0)",
        "DSL0224",
        27,
        "write how far an iteration goes, such",
    ),
    (
        "a slice with a step",
        "b[n : n + BN]",
        "b[n : n + BN : 2]",
        "DSL0203",
        19,
        "sizes must be equal or 1; add an axis",
    ),
    (
        "an argument too few",
        "gain(total)",
        "gain()",
        "DSL0205",
        20,
        "gain(x, by)",
    ),
    (
        "an argument too many",
        "gain(total)",
        "gain(total, 2.0, 3.0)",
        "DSL0205",
        20,
        "gain(x, by)",
    ),
    (
        "an unknown keyword",
        "gain(total)",
        "gain(total, times=2.0)",
        "DSL0205",
        20,
        "gain(x, by)",
    ),
    (
        "a call of a kernel in a kernel",
        "cast(gain(total), f16)",
        "cast(scale(total), f16)",
        "DSL0228",
        20,
        "what kernels share is a function: write",
    ),
    (
        "a program's argument misses",
        "product(a, t, last, c)",
        "product(a, t, c)",
        "DSL0205",
        38,
        "product(a, b, last, c)",
    ),
    (
        "a buffer of another dtype",
        "buffer(f16, [K, N])",
        "buffer(f32, [K, N])",
        "DSL0202",
        37,
        "declare t as f16, or y as f32",
    ),
    (
        "an import that is not there",
        "const T = f16",
        "from nowhere import thing\nconst T = f16",
        "DSL0221",
        3,
        "looked in",
    ),
    (
        "an import without a name",
        "const T = f16",
        "from std.rows import\nconst T = f16",
        "DSL0101",
        3,
        "go on with it, or take the last mark",
    ),
    (
        "a name that std has not",
        "const T = f16",
        "from std.rows import rmsnorn\nconst T = f16",
        "DSL0221",
        3,
        "did you mean `rmsnorm`?",
    ),
    (
        "an assignment in a condition",
        "if last > 0:",
        "if last = 0:",
        "DSL0101",
        31,
        "`==` compares",
    ),
    (
        "else without if",
        "            acc = maximum(acc, 0.0)\n",
        "            acc = maximum(acc, 0.0)\n        elif:\n            pass\n",
        "DSL0101",
        33,
        "a condition stands before the colon",
    ),
    (
        "true in small letters",
        "if last > 0:",
        "if true:",
        "DSL0201",
        31,
        "write True",
    ),
    (
        "and as &&",
        "if last > 0:",
        "if last > 0 && last < 3:",
        "DSL0105",
        31,
        "write `and`",
    ),
    (
        "not as !",
        "if last > 0:",
        "if !last:",
        "DSL0004",
        31,
        "write `not x`, or `!=` to compare",
    ),
    (
        "an increment",
        "acc += dot(rows, columns)",
        "acc++",
        "DSL0105",
        30,
        "write `+= 1`",
    ),
    (
        "braces",
        "[16, 64])\n",
        "{16, 64})\n",
        "DSL0105",
        26,
        "a shape is a list: write [M, N]",
    ),
    (
        "a semicolon and a C comment",
        "bias = b[n : n + BN]",
        "bias = b[n : n + BN]; // bias",
        "DSL0101",
        17,
        "a comment begins with `#`; `//` divides",
    ),
    (
        "lambda",
        "gain(total)",
        "(lambda x: x)(total)",
        "DSL0105",
        20,
        "write a function beside the kernel: it",
    ),
    (
        "break",
        "            acc += dot(rows, columns)",
        "            break",
        "DSL0105",
        30,
        "write the condition in a `while`",
    ),
    (
        "a name before its value",
        "total = cast(values, f32) + bias",
        "total = cast(later, f32) + bias",
        "DSL0201",
        19,
        "did you mean `gather`?",
    ),
    (
        "a name of one branch alone",
        "            acc = maximum(acc, 0.0)\n",
        "            more = acc\n        acc = more\n",
        "DSL0209",
        33,
        "give more a value before",
    ),
    (
        "a carried tile changes its shape",
        "acc += dot(rows, columns)",
        "acc = rows",
        "DSL0209",
        32,
        "give acc a value before",
    ),
    (
        "a carried tile changes its dtype",
        "acc += dot(rows, columns)",
        "acc = cast(acc, f16)",
        "DSL0208",
        27,
        "what a loop carries keeps its type:",
    ),
    (
        "an index that is a float",
        "b[n : n + BN]",
        "b[0.5 : n + BN]",
        "DSL0212",
        17,
        "use // to divide",
    ),
    (
        "too many indices",
        "b[n : n + BN]",
        "b[n : n + BN, 0:3]",
        "DSL0212",
        17,
        "write 1, one an axis; `None` adds an",
    ),
    (
        "a store of another shape",
        "c[m : m + 16, n : n + 64] = acc",
        "c[m : m + 16, n : n + 32] = acc",
        "DSL0223",
        33,
        "give both the same sizes; what is 1 in",
    ),
    (
        "a store of another dtype",
        "= cast(gain(total), f16)",
        "= gain(total)",
        "DSL0202",
        20,
        "write cast(..., f16)",
    ),
    (
        "an unknown axis",
        "maximum(acc, 0.0)",
        "acc * sum(acc, 5)",
        "DSL0226",
        32,
        "axes are 0 to 1, or from the last: -1",
    ),
    (
        "a reshape that loses elements",
        "maximum(acc, 0.0)",
        "reshape(acc, [16, 32])",
        "DSL0203",
        32,
        "the product of the sizes is 1024; one",
    ),
    (
        "a kernel without a body",
        "    require K % 32 == 0\n\n    for m, n",
        "for m, n",
        "DSL0014",
        23,
        "indent the body; a body that does",
    ),
    (
        "a string as a size",
        "tune BK = 32 | 64",
        'tune BK = "32" | 64',
        "DSL0218",
        11,
        "the choices are 32, 64",
    ),
]
