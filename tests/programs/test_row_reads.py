"""Reads of `packed row` tensors that begin, end or step within a byte, with rows of no whole bytes.

A machine that addresses bytes takes such a tensor as codes, which a call unpacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.runtime import packing

from support.machines import MACHINES, call

# The name of each, what it reads of w, the shape of w, and the same in NumPy.
READS: Mapping[str, tuple[str, tuple[int, int], Any]] = {
    "rows of no whole bytes": ("w[:, :]", (3, 7), np.s_[:, :]),
    "a part of such rows": ("w[:, 0:8]", (4, 11), np.s_[:, :8]),
    "the end of such rows": ("w[:, 2:10]", (4, 10), np.s_[:, 2:]),
    "a start within a byte": ("w[:, 3:11]", (4, 16), np.s_[:, 3:11]),
    "an end within a byte": ("w[:, 3:8]", (4, 16), np.s_[:, 3:8]),
    "every second": ("w[:, 0:16:2]", (4, 16), np.s_[:, ::2]),
    "a column": ("reshape(w[:, 3], [4, 1])", (4, 16), np.s_[:, 3:4]),
    "rows by number": ("gather(w[:, :], i[:], 0)", (4, 16), np.s_[[3, 0, 1, 3], :]),
    "whole bytes": ("w[:, 8:16]", (4, 16), np.s_[:, 8:]),
}


def read(name: str, dtype: str) -> tuple[str, dict[str, Any], Any]:
    """A source, its arguments, and what it gives."""
    expression, shape, taken = READS[name]
    w = np.random.default_rng(len(name)).integers(0, 1 << int(dtype[1]), shape).astype(np.uint8)
    wanted = w[taken].astype(np.int32)
    m, n = wanted.shape
    head = f"w: {dtype}[{shape[0]}, {shape[1]}] packed row, i: i32[4], y: out i32[{m}, {n}]"
    text = f"kernel k({head}):\n    y[:, :] = cast({expression}, i32)\n"
    return (
        text,
        {"w": w, "i": np.array([3, 0, 1, 3], np.int32), "y": np.zeros((m, n), np.int32)},
        wanted,
    )


@pytest.mark.parametrize("dtype", ["u4", "u3", "u7"])
@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("target", ["interp", *MACHINES])
@pytest.mark.sampled(9)
def test_reads_within_bytes(target: str, name: str, dtype: str) -> None:
    text, args, wanted = read(name, dtype)
    call(target, text, args)
    np.testing.assert_array_equal(args["y"], wanted)


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("target", ["nki:trn2", "aie:npu2"])
def test_reads_within_bytes_on_machines_of_bytes(target: str, name: str) -> None:
    text, args, wanted = read(name, "u3")
    storage = {"scheme": "row", "bits": 3, "signed": False}
    call(target, text, {**args, "w": packing.pack(args["w"], storage)})
    np.testing.assert_array_equal(args["y"], wanted)


@pytest.mark.parametrize("target", ["nki:trn2", "aie:npu2"])
def test_whole_bytes_stay_packed(target: str) -> None:
    for name, codes in (("whole bytes", []), ("every second", ["w"])):
        made = dslc.compile(read(name, "u4")[0], target=target, cache=False).k.specialize()
        assert made.artifact.launch["codes"] == codes


PROGRAM = """
kernel invert(w: u4[4, 16] packed row, q: out u4[4, 16] packed row):
    q[:, :] = w[:, :] ^ 15

kernel shift(w: u4[4, 16] packed row, y: out i32[4, 15]):
    y[:, :] = cast(w[:, 1:16], i32)

program p(w: u4[4, 16] packed row, q: out u4[4, 16] packed row, y: out i32[4, 15], z: out i32[4, 15]):
    invert(w, q)
    shift(w, y)
    shift(q, z)
"""


@pytest.mark.parametrize("target", ["interp", "nki:trn2", "aie:npu2"])
def test_a_tensor_is_the_same_to_all_kernels_of_a_program(target: str) -> None:
    w = np.random.default_rng(0).integers(0, 16, (4, 16)).astype(np.uint8)
    args = {"w": w, "q": np.zeros_like(w)}
    args |= {name: np.zeros((4, 15), np.int32) for name in "yz"}
    call(target, PROGRAM, args, kernel="p")
    np.testing.assert_array_equal(args["q"], 15 - w)
    np.testing.assert_array_equal(args["y"], w[:, 1:])
    np.testing.assert_array_equal(args["z"], 15 - w[:, 1:])
