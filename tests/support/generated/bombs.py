"""Short sources that ask for very much: each grows with its size, and is refused or checked soon."""

from __future__ import annotations

from collections.abc import Callable

KERNEL = "kernel k(x: f32[N], y: out f32[N]):\n"
LOOP = "    for n in parallel(range(0, N, 64)):\n"
COPY = KERNEL + LOOP + "        y[n : n + 64] = x[n : n + 64]\n"


def _body(*lines: str) -> str:
    """A kernel that computes a tile `a` of 64 and more elements."""
    body = "".join(f"        {line}\n" for line in ("a = x[n : n + 64]", *lines))
    return f"{KERNEL}{LOOP}{body}        y[n : n + 64] = a[0:64]\n"


def _functions(size: int, call: str) -> str:
    text = "def f0(a):\n    return a + 1.0\n\n\n"
    for i in range(1, size):
        text += f"def f{i}(a):\n{call.format(f'f{i - 1}')}\n\n"
    return text + _body(f"a = f{size - 1}(a)")


def _consts(size: int, first: str, step: str) -> str:
    text = f"const A0 = {first}\n"
    for i in range(size):
        text += f"const A{i + 1} = {step.replace('A', f'A{i}')}\n"
    return text + COPY


def _tunes(size: int) -> str:
    names = [f"T{i}" for i in range(size)]
    tunes = "".join(f"    tune {n} = 1 | 2 | 3 | 4\n" for n in names)
    return f"{KERNEL}{tunes}    require {' + '.join(names)} > {5 * size}\n{COPY[len(KERNEL) :]}"


def _split(size: int) -> str:
    return (
        "kernel k(x: f32[N, M], y: out f32[N]):\n    for n in parallel(range(0, N, 64)):\n"
        f"        a = zeros(f32, [64])\n        for m in range(0, M, 4, split={10**size}):\n"
        "            a += sum(x[n : n + 64, m : m + 4], 1)\n        y[n : n + 64] = a\n"
    )


BOMBS: dict[str, Callable[[int], str]] = {
    "calls": lambda n: _functions(n, "    b = {0}(a)\n    return {0}(b)\n"),
    "calls in an expression": lambda n: _functions(n, "    return {0}({0}(a))\n"),
    "calls of scalars": lambda n: _functions(n, "    return {0}(1.0) + {0}(2.0) + a\n"),
    "layouts": lambda n: _consts(n, "spatial(4, 8)", "A * A"),
    "axes of layouts": lambda n: _consts(n, "local(1)", "product(A, A)"),
    "copies of layouts": lambda n: _consts(n, "replicate(2, 1)", "A * A"),
    "axes of copies": lambda n: f"const A = replicate(2, {10**n})\n" + COPY,
    "lists": lambda n: _consts(n, "[1]", "[A, A]"),
    "powers": lambda n: f"const A = {'**'.join(['9'] * n)}\n" + COPY,
    "squares": lambda n: _consts(n, "3", "A * A"),
    "shifts": lambda n: f"const A = 1 << 10**{n}\n" + COPY,
    "parts": _split,
    "unrolled iterations": lambda n: _body(
        f"for i in range(0, N, unroll={10**n}):", "    a = a + 1.0"
    ),
    "stages": lambda n: _body(f"for i in range(0, N, stages={10**n}):", "    a = a + 1.0"),
    "repeats": lambda n: _body(*["a = repeat(a, 16, 0)"] * n),
    "pairs": lambda n: _body(*["a = concat([a, a], 0)"] * n),
    "outer products": lambda n: _body(*["a = reshape(a[:, None] * a[None, :], [-1])"] * n),
    "zeros": lambda n: _body(f"a += sum(zeros(f32, [10**{n}]))"),
    "scalars": lambda n: _body("i = n", *["i = i * i + i"] * n, "a += cast(i, f32)"),
    "choices": _tunes,
}
"""By what they have much of."""
