"""Indices computed from numbers of the machine: caches in pages, tables looked up by two numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError

D = 32
SLOTS = np.array([3, 17, 8, 31, 0], np.int32)
LENGTHS = np.array([0, 3, 9, 12, 4], np.int32)
HEAD = "    for t in parallel(range(T)):\n        s = at[t]\n"


def rows(body: str, extents: str = "B, 8, D") -> str:
    """A kernel that reads a row of a cache for each of `at`."""
    return f"kernel k(c: f32[{extents}], at: i32[T], x: out f32[T, D]):\n{HEAD}        {body}\n"


def summed(head: str, body: str) -> str:
    """A kernel that adds up rows in a loop of the machine."""
    return rows(f"acc = zeros(f32, [D])\n        {head}\n            {body}\n        x[t, :] = acc")


def writes(body: str, extents: str = "B, 8, D") -> str:
    head = f"kernel k(x: f32[T, D], at: i32[T], c: inout f32[{extents}]):\n{HEAD}"
    return f"{head}        {body}\n"


READS = {
    "a page and a place in it": rows("x[t, :] = c[s // 8, s % 8, :]"),
    "pages of an odd size": rows("x[t, :] = c[s // 5, s % 5, :]", "B, 5, D"),
    "pages of a dim": rows("x[t, :] = c[s // E, s % E, :]", "B, E, D"),
    "quotients of quotients": rows(
        "x[t, :] = c[s // 8, s // 2 % 4, s % 2, :] + c[(s + 1) // 8, s // 4 % 2 * 2, (s + 1) % 2, :]",
        "B, 4, 2, D",
    ),
    "both may be out of range": rows("x[t, :] = c[s // 6 - 1, s % 9, :]"),
    "several rows of a page": rows("x[t, :] = sum(c[s // 8, s % 8 : s % 8 + 4, :], 0)"),
    "products and sums of two": rows(
        "x[t, :] = c[(s % 2) * (at[0] % 3) + s // 17, (at[1] * s + 3) % 8, :]"
    ),
    "columns": "kernel k(c: f32[D, B, 8], at: i32[T], x: out f32[D, T]):\n"
    f"{HEAD}        x[:, t] = c[:, s // 8, s % 8]\n",
    "one element": "kernel k(c: f32[B, 8], at: i32[T], x: out f32[T]):\n"
    f"{HEAD}        x[t] = c[s // 8, s % 8]\n",
    "in a branch": rows(
        "x[t, :] = zeros(f32, [D])\n        if s % 3 > 0:\n            x[t, :] = c[s // 8, s % 8, :]"
    ),
    "beside a counter": summed("for i in range(s % 4):", "acc += c[s // 8, (s + i) % 8, :]"),
    "of a counter": summed("for i in range(s):", "acc += c[i // 8, i % 8, :] * i + c[i * 2, 3, :]"),
    "of counters": summed(
        "for i in range(s, s * 2, 3):",
        "for j in range(i % 3):\n                acc += c[(i + j) // 8, (i + j) % 8, :]",
    ),
    "in a while loop": summed("while s > 0:", "acc += c[s // 8, s % 8, :]\n            s = s // 2"),
    "from a buffer": rows(
        "b = buffer(f32, [4, 8, D])\n        for i in range(4):\n"
        "            b[i, :, :] = c[i, :, :] * t\n        x[t, :] = b[s // 8, s % 8, :]"
    ),
}
WRITES = {
    "a page and a place in it": writes("c[s // 8, s % 8, :] = x[t, :]"),
    "both may be out of range": writes("c[s // 6 - 1, s % 9, :] = x[t, :]"),
    "added": writes("atomic_add(c[s // 8, s % 8, :], x[t, :])"),
    "in a loop": writes(
        "for i in range(s % 4):\n            c[t, (s + i) % 8, :] = x[t, :] + i", "T, 8, D"
    ),
}
PAGED = """
kernel k(q: f16[S, H, D], kc: f16[B, BS, D], vc: f16[B, BS, D], table: i32[S, P], lens: i32[S],
         o: out f32[S, H, D]):
    const BS = 16
    for b in parallel(range(S)):
        n = lens[b]
        qq = q[b, :, :]
        m = full(f32, [H], -1e30)
        l = zeros(f32, [H])
        acc = zeros(f32, [H, D])
        for i in range((n + BS - 1) // BS):
            p = table[b, i]
            s = dot(qq, kc[p, :, :], transposed="b") * 0.17
            s = where((arange(BS) + i * BS)[None, :] < n, s, -1e30)
            mn = maximum(m, max(s, 1))
            e = exp(s - mn[:, None])
            c = exp(m - mn)
            l = l * c + sum(e, 1)
            acc = acc * c[:, None] + dot(cast(e, f16), vc[p, :, :])
            m = mn
        o[b, :, :] = acc / l[:, None]
"""
EDIT = """
kernel k(a: i32[M], b: i32[N], table: f32[5, 6], y: out f32[M]):
    for i in parallel(range(M)):
        acc = 0.0
        for j in range(N):
            acc += table[a[i] % 5, b[j] % 6]
        y[i] = acc
"""


def sizes(source: str, head: str) -> list[int]:
    """A parameter's extents."""
    extents = source.partition(head)[2].partition("]")[0].split(", ")
    return [{"B": 9, "E": 8, "T": 5}.get(n) or int(n) for n in extents]


def normal(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def check(source: str, arguments: Callable[[], list[Any]], target: str, tmp_path: Path) -> None:
    path = tmp_path / "dynamic.tile"
    path.write_text(source, encoding="utf-8")
    wanted, got = arguments(), arguments()
    dslc.compile(path, target="interp", cache=False).k(*wanted)
    dslc.compile(path, target=target, cache=False).k(*got)
    for a, b in zip(wanted, got, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("case", READS)
def test_reads(case: str, tmp_path: Path) -> None:
    source = READS[case].replace("D]", f"{D}]").replace("[D,", f"[{D},")
    shape, out = (sizes(source, head) for head in ("c: f32[", "x: out f32["))
    at = LENGTHS if "loop" in case or "counter" in case else SLOTS
    target = "nki:trn1" if len(case) % 2 else "nki:trn3"
    check(source, lambda: [normal(*shape), at, np.zeros(out, np.float32)], target, tmp_path)


@pytest.mark.parametrize("case", WRITES)
def test_writes(case: str, tmp_path: Path) -> None:
    source = WRITES[case].replace("D]", f"{D}]")
    check(source, lambda: [normal(5, D), SLOTS, normal(5, 8, D)], "nki:trn2", tmp_path)


def test_attention_over_pages(tmp_path: Path) -> None:
    table = np.array([[5, 2, 0], [1, 1, 1], [3, 4, 2]], np.int32)
    lengths = np.array([20, 3, 48], np.int32)

    def arguments() -> list[Any]:
        parts = [normal(3, 4, D), normal(6, 16, D), normal(6, 16, D) - 1]
        halves = [p.astype(np.float16) for p in parts]
        return [*halves, table, lengths, np.zeros((3, 4, D), np.float32)]

    check(PAGED, arguments, "nki:trn2", tmp_path)


def test_a_table_looked_up_by_two_numbers(tmp_path: Path) -> None:
    a, b = np.arange(7, dtype=np.int32) * 5, np.arange(6, dtype=np.int32) * 7
    check(EDIT, lambda: [a, b, normal(5, 6), np.zeros(7, np.float32)], "nki:trn2", tmp_path)


def test_codes_of_few_bits_are_refused_where_they_may_lie_outside(tmp_path: Path) -> None:
    path = tmp_path / "dynamic.tile"
    text = rows("x[t, :] = cast(c[s // 8, s % 8, :], f32)".replace("D", str(D)))
    path.write_text(text.replace("c: f32[B, 8, D]", "c: u4[B, 8, 32] packed row"), "utf-8")
    kernel = dslc.compile(path, target="nki:trn2", cache=False).k
    with pytest.raises(DiagnosticError, match="DSL0590"):
        kernel.specialize(T=5, B=4, D=D)
