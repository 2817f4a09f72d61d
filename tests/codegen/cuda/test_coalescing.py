"""Tiles share an array of registers where neither is needed while the other is, and only there."""

from __future__ import annotations

import re

import numpy as np
import pytest
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir.text.parser import parse_program
from dslc.runtime.cuda_emulator import compiler

from support.gpu.emulation import emitted, execute, lower

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")

# Sixteen elements that a call chooses the iterations for, so that no loop is written out.
HEAD = """kernel k[](@x: in f32[64], @y: out f32[64], @z: out f32[64], n: index) {
  %a = load @x[0 : +64!] : f32[64]
  %b = neg %a : f32[64]
"""
SUM = """  %zero = full f32(0.0) : f32[64]
  %s = for i in range(0, n, 1) carry (%total : f32[64] = %zero) {
    %next = add %total, %a : f32[64]
    yield %next
  }
  store @y[0 : +64!], %s
}
"""
SWAP = """  %p, %q = for i in range(0, n, 1) carry (%u : f32[64] = %a, %v : f32[64] = %b) {
    yield %v, %u
  }
  store @y[0 : +64!], %p
  store @z[0 : +64!], %q
}
"""
ROTATION = """  %c = exp2 %a : f32[64]
  %p, %q, %r = for i in range(0, n, 1) carry (%u : f32[64] = %a, %v : f32[64] = %b, %w : f32[64] = %c) {
    %t = add %u, %w : f32[64]
    yield %v, %w, %t
  }
  %s = sub %p, %q : f32[64]
  store @y[0 : +64!], %s
  store @z[0 : +64!], %r
}
"""
READ_AFTER = """  %p, %q = for i in range(0, n, 1) carry (%u : f32[64] = %a, %v : f32[64] = %b) {
    %t = add %u, %a : f32[64]
    %w = mul %u, %t : f32[64]
    yield %t, %w
  }
  store @y[0 : +64!], %p
  store @z[0 : +64!], %q
}
"""
BEGUN_AGAIN = """  %zero = full f32(0.0) : f32[64]
  %s = for j in range(0, n, 1) carry (%all : f32[64] = %b) {
    %part = for i in range(0, n, 1) carry (%total : f32[64] = %zero) {
      %next = add %total, %a : f32[64]
      yield %next
    }
    %more = add %all, %part : f32[64]
    yield %more
  }
  store @y[0 : +64!], %s
}
"""
BEGINNING_READ_LATER = """  %c = add %a, %b : f32[64]
  %s = for i in range(0, n, 1) carry (%total : f32[64] = %c) {
    %next = add %total, %a : f32[64]
    yield %next
  }
  %d = sub %s, %c : f32[64]
  store @y[0 : +64!], %d
}
"""
BRANCHES = """  %r : f32[64] = if n > 2 {
    %zero = full f32(0.0) : f32[64]
    %s = for i in range(0, n, 1) carry (%total : f32[64] = %zero) {
      %next = add %total, %a : f32[64]
      yield %next
    }
    yield %s
  } else {
    %t = mul %a, %b : f32[64]
    %u = add %t, %t : f32[64]
    yield %u
  }
  store @y[0 : +64!], %r
}
"""
BOTH_FROM_ONE = """  %r : f32[64], %s : f32[64] = if n > 2 {
    %t = mul %a, %b : f32[64]
    yield %t, %t
  } else {
    %u = add %a, %a : f32[64]
    %v = add %u, %a : f32[64]
    yield %v, %u
  }
  %w = neg %r : f32[64]
  store @y[0 : +64!], %w
  store @z[0 : +64!], %s
}
"""
SCALARS = """  %p, m = for i in range(0, n, 1) carry (%u : f32[64] = %a, m0 : f32 = f32(0.0)) {
    %top = reduce max %u, axis=0 : f32[]
    %t = add %u, %a : f32[64]
    yield %t, m0 + read(%top)
  }
  store @y[0 : +64!], %p
  %f = full m : f32[64]
  store @z[0 : +64!], %f
}
"""
PROGRAMS = {
    "sum": SUM, "swap": SWAP, "rotation": ROTATION, "read after": READ_AFTER,
    "begun again": BEGUN_AGAIN, "beginning read later": BEGINNING_READ_LATER,
    "branches": BRANCHES, "both from one": BOTH_FROM_ONE, "scalars": SCALARS,
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_sharing_changes_no_result(name: str) -> None:
    program = parse_program(HEAD + PROGRAMS[name])
    lowered = lower(program)
    for iterations in (0, 1, 2, 5):
        x = np.arange(64, dtype=np.float32) / 16
        args = {
            "x": x,
            "y": np.zeros(64, np.float32),
            "z": np.zeros(64, np.float32),
            "n": iterations,
        }
        wanted = {n: a.copy() if isinstance(a, np.ndarray) else a for n, a in args.items()}
        run(program, wanted, Options())
        execute(lowered, args)
        np.testing.assert_allclose(args["y"], wanted["y"], rtol=1e-6)
        np.testing.assert_allclose(args["z"], wanted["z"], rtol=1e-6)


def copies(text: str) -> list[str]:
    """Lines that do nothing but copy a register."""
    return re.findall(r"^ *\w+\[i\] = \w+\[i\];$", text, re.MULTILINE)


@pytest.mark.parametrize("name", ["sum", "branches"])
def test_nothing_is_copied_where_nothing_has_to(name: str) -> None:
    text, _ = emitted(lower(parse_program(HEAD + PROGRAMS[name])))
    assert not copies(text)
    assert "total" in text or "r[" in text


def test_a_ring_of_copies_is_cut_once() -> None:
    text, _ = emitted(lower(parse_program(HEAD + SWAP)))
    assert len(copies(text)) == 4  # one begins, as neg reads a too; three exchange
