"""Turns of a cluster: what they hand each other, and what they must wait for."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.verify import verify

# Each of two turns copies one row to both, and waits for the two.
SHARED = """
kernel pairs[](@x: in f32[4, 32], @y: out f32[4, 2, 32]) {
  threads(32)
  cluster(2)
  grid t in range(0, 4, 1)
  alloc @rows: buffer shared f32[2, 32]
  alloc @full: buffer shared u64[1]
  init_barriers @full[0 : +1!], arrivals=1
  sync cluster
  arrive @full[0!], bytes=256
  copy_async @rows[t % 2 : +1!, 0 : +32!], @x[t : +1!, 0 : +32!], barrier=@full[0!], multicast
  await_phase @full[0!], 0
  %v = load @rows[0 : +2!, 0 : +32!] : f32[2, 32] `local(2, 1).spatial(1, 32)`
  store @y[t!, 0 : +2!, 0 : +32!], %v
  sync cluster
}
"""

# Each of two turns reads what the other has written.
READ = """
kernel others[](@x: in f32[4, 32], @y: out f32[4, 32]) {
  threads(32)
  cluster(2)
  grid t in range(0, 4, 1)
  %own = load @x[t!, 0 : +32!] : f32[32] `spatial(32)`
  alloc @row: buffer shared f32[32]
  store @row[0 : +32!], %own
  sync cluster
  %other = load @row[0 : +32!], rank=1 - t % 2 : f32[32] `spatial(32)`
  store @y[t!, 0 : +32!], %other
  sync cluster
}
"""

X = np.arange(128, dtype=np.float32).reshape(4, 32)
END = "  sync cluster\n}"


def ran(text: str, shape: tuple[int, ...], shuffle: int | None = None) -> np.ndarray:
    program = parse_program(text)
    verify(program)
    assert print_program(parse_program(print_program(program))) == print_program(program)
    y = np.zeros(shape, np.float32)
    run(program, {"x": X, "y": y}, Options(shuffle=shuffle))
    return y


@pytest.mark.parametrize("shuffle", [None, 1, 2])
def test_a_copy_goes_to_all(shuffle: int | None) -> None:
    y = ran(SHARED, (4, 2, 32), shuffle)
    np.testing.assert_array_equal(y, X.reshape(2, 1, 2, 32).repeat(2, 1).reshape(4, 2, 32))


@pytest.mark.parametrize("shuffle", [None, 1, 2])
def test_a_turn_reads_another(shuffle: int | None) -> None:
    np.testing.assert_array_equal(ran(READ, (4, 32), shuffle), X[[1, 0, 3, 2]])


@pytest.mark.parametrize(
    ("text", "was", "instead", "said"),
    [
        (SHARED, "  sync cluster\n  arrive", "  sync\n  arrive", "before it begins"),
        (SHARED, "bytes=256", "bytes=384", "wait for ever"),
        (SHARED, ", multicast", "", "wait for ever"),
        (READ, END, "}", "is over"),
        (READ, "rank=1 - t % 2", "rank=2 - t % 2", "rank 2 of a cluster of 2"),
        (READ, "range(0, 4, 1)", "range(0, 3, 1)", "do not divide"),
    ],
)
def test_what_is_missing_is_told(text: str, was: str, instead: str, said: str) -> None:
    worse = text.replace(was, instead)
    assert worse != text
    shape = (4, 2, 32) if text is SHARED else (4, 32)
    with pytest.raises(DiagnosticError, match=f"DSL0612.*{said}"):
        ran(worse, shape)


@pytest.mark.parametrize(
    ("text", "was", "instead", "said"),
    [
        (SHARED, "  cluster(2)\n", "", "no clusters"),
        (SHARED, "cluster(2)", "cluster(17)", "2 to 16"),
        (SHARED, "cluster(2)", "cluster(2)\n  rasterize(2)", "no rasterization"),
        (SHARED, "barrier=@full[0!], multicast", "multicast", "copied in bulk"),
        (READ, "%other = load @row[0 : +32!]", "%other = load @x[t!, 0 : +32!]", "only shared"),
    ],
)
def test_the_verifier_knows_the_rules(text: str, was: str, instead: str, said: str) -> None:
    worse = text.replace(was, instead)
    assert worse != text
    with pytest.raises(DiagnosticError, match=said):
        verify(parse_program(worse))
