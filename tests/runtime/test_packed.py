"""Packed weights know their storage, and a kernel with another one refuses them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.packing import Packed, pack, unpack

ROWS = {"scheme": "row", "bits": 4, "signed": False}
TILES = {
    "scheme": "tiles", "bits": 4, "signed": False, "modes": [[2, 4], [8]], "order": [1, 2, 0],
    "thread_bytes": 1, "word_bytes": 1, "lanes": 1,
}  # fmt: skip
OTHER = {**TILES, "order": [0, 1, 2]}  # the same shape
KERNEL = """
kernel scale(x: f32[M, K], w: u4[K, N], y: out f32[M, N]):
    const BN = 32
    for m, n in parallel(range(0, M, 16), range(0, N, BN)):
        acc = zeros(f32, [16, BN])
        for k in range(0, K, 64):
            acc += dot(x[m : m + 16, k : k + 64], cast(w[k : k + 64, n : n + BN], f32))
        y[m : m + 16, n : n + BN] = acc
"""


def codes(*shape: int) -> Any:
    return np.random.default_rng(0).integers(0, 16, shape).astype(np.uint8)


def test_packed_bytes_and_their_copies_know_their_storage() -> None:
    made = pack(codes(16, 8), TILES)
    sent = [pickle.loads(pickle.dumps(made, protocol=p)) for p in (2, 4, 5)]
    copies = (made.copy(), copy.copy(made), copy.deepcopy(made), *sent)
    for array in (made, *copies):
        assert isinstance(array, Packed)
        assert array.storage == TILES
        assert array.flags.writeable
        assert np.array_equal(unpack(array, TILES, (16, 8)), codes(16, 8))
        with pytest.raises(DiagnosticError, match="DSL0768"):
            unpack(array, OTHER, (16, 8))
    assert not any(np.may_share_memory(made, array) for array in copies)


def test_what_else_is_made_of_packed_bytes_does_not_know_it() -> None:
    made = pack(codes(16, 8), TILES)
    for array in (made[:], made.view(), made + made, np.empty_like(made)):
        assert getattr(array, "storage", None) is None
    plain = np.ascontiguousarray(made)
    assert type(plain) is np.ndarray
    assert np.array_equal(unpack(plain, TILES, (16, 8)), codes(16, 8))


@pytest.mark.parametrize("storage", [OTHER, {**TILES, "word_bytes": 2, "thread_bytes": 2}, ROWS])
def test_another_storage_is_refused_by_name(storage: dict[str, Any]) -> None:
    with pytest.raises(DiagnosticError, match="DSL0768") as found:
        unpack(pack(codes(16, 8), TILES), storage, (16, 8))
    assert "tiles of 8 x 8 of 4 bits in 1-byte words" in str(found.value)


def test_a_kernel_of_another_machine_refuses_them() -> None:
    x, y, w = np.ones((16, 64), np.float32), np.zeros((16, 64), np.float32), codes(64, 64)
    arm = dslc.compile(source=KERNEL, target="aarch64:all", cache=False).scale
    interp = dslc.compile(source=KERNEL, target="interp", cache=False).scale
    packed = arm.pack("w", w)
    assert isinstance(packed, Packed)
    with pytest.raises(DiagnosticError, match=r"DSL0768.*w was packed as tiles") as found:
        interp(x, packed, y)
    hint = found.value.diagnostics[0].hint or ""
    assert all(size in hint for size in ('kernel.pack("w", codes, ', "M=16", "K=64", "N=64"))
    assert packed.storage is not None
    foreign = packed.view(Packed)
    foreign.storage = {**packed.storage, "order": packed.storage["order"][::-1]}
    with pytest.raises(DiagnosticError, match=r"DSL0768.*such in another order"):
        arm.unpack("w", foreign, K=64, N=64)
    assert np.array_equal(arm.unpack("w", packed, K=64, N=64), w)
