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
]
