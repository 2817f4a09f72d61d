"""Packing by an artifact's description, against big integers bit by bit."""

import json

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.diagnostics.catalogue import entries
from dslc.compiler.dtypes import pack_bits
from dslc.compiler.layout import Layout, parse_layout, reshape
from dslc.compiler.low_bit_format import PackedStorage, default_layout, interleaved, storage_for
from dslc.runtime.packing import pack, packed_shape, unpack
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import support.generated.layouts  # noqa: F401

LAYOUTS = [
    "local(2, 1).column_spatial(4, 8).local(2, 1)",
    "column_local(2, 2).spatial(8, 4).local(1, 2)",
    "spatial(2, 1).local(1, 2).local(2, 1).column_spatial(4, 8).local(4, 1)",
    "replicate(2).local(1, 2).column_local(2, 2).spatial(8, 4).local(1, 2)",
    "spatial(1, 2).replicate(3).spatial(2, 1).local(2, 4)",
    "local(8, 16)",
    "spatial(4, 2).local(2, 3).local(4, 1)",
]


def codes_of(shape, bits: int, signed: bool, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    low = -(1 << (bits - 1)) if signed else 0
    high = low + (1 << bits)
    return rng.integers(low, high, shape).astype(np.int8 if signed else np.uint8)


def by_hand(codes: np.ndarray, storage: PackedStorage) -> np.ndarray:
    """Each tile, thread and byte from the definition, with Python's integers."""
    out = np.zeros(storage.shape(codes.shape), np.uint8)
    f, (n1, threads) = storage.layout, (storage.word_bytes, storage.threads)
    first: dict[tuple, int] = {}
    for t in range(f.threads):
        first.setdefault(f.index(t, 0), len(first))
    for tile in np.ndindex(*out.shape[:-1]):
        for t in range(f.threads):
            number = first[f.index(t, 0)]
            held = 0
            for i in range(f.locals):
                at = [k * n + x for k, n, x in zip(tile, storage.tile, f.index(t, i), strict=True)]
                inside = all(x < n for x, n in zip(at, codes.shape, strict=True))
                code = int(codes[tuple(at)]) if inside else 0
                held |= (code % (1 << storage.bits)) << (i * storage.bits)
            size = storage.thread_bytes // storage.lanes
            for i, byte in enumerate(held.to_bytes(storage.thread_bytes, "little")):
                lane, place = divmod(i, size)
                run = 4 // storage.lanes
                j = i if storage.lanes == 1 else (place // run * 4 + lane * run + place % run)
                out[tile][(j // n1 * threads + number) * n1 + j % n1] = byte
    return out


@pytest.mark.parametrize(
    "text", ["spatial(8, 4).local(8, 4)", "local(4, 8).spatial(4, 2).local(2, 1)"]
)
@pytest.mark.parametrize("lanes", [2, 4])
@pytest.mark.parametrize("bits", range(1, 9))
def test_packing_in_lanes_is_its_definition(text, lanes, bits):
    layout = parse_layout(text)
    storage = storage_for(layout.shape, bits, layout, lanes=lanes)
    codes = codes_of(tuple(n * 2 - 1 for n in layout.shape), bits, False, bits)
    stored = pack(codes, storage.to_data())
    np.testing.assert_array_equal(stored, by_hand(codes, storage))
    np.testing.assert_array_equal(unpack(stored, storage.to_data(), codes.shape), codes)


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("lanes", [2, 4])
def test_lanes_hold_what_one_word_of_results_does(bits, lanes):
    layout = parse_layout("spatial(32).local(64)")
    stored = interleaved(layout, bits, lanes)
    assert stored is not None
    places = {int(x): i for i, x in enumerate(stored.table()[0, :, 0])}
    for first in range(0, 64, lanes):
        at = [places[first + lane] for lane in range(lanes)]
        assert [x // (64 // lanes) for x in at] == list(range(lanes))
        assert len({x % (64 // lanes) for x in at}) == 1


@pytest.mark.parametrize("text", LAYOUTS)
@pytest.mark.parametrize("bits", range(1, 9))
def test_packing_is_its_definition(text, bits):
    layout = parse_layout(text)
    assume_whole = layout.locals * bits % 8 == 0
    if not assume_whole:
        with pytest.raises(DiagnosticError, match="DSL0320"):
            storage_for(layout.shape, bits, layout)
        return
    for signed in (False, True):
        storage = storage_for(layout.shape, bits, layout, signed=signed)
        data = json.loads(json.dumps(storage.to_data()))
        codes = codes_of((layout.shape[0] + 3, 2 * layout.shape[1] - 1), bits, signed, bits)
        packed = pack(codes, data)
        assert packed.shape == packed_shape(data, codes.shape) == storage.shape(codes.shape)
        np.testing.assert_array_equal(packed, by_hand(codes, storage))
        back = unpack(packed, data, codes.shape)
        assert back.dtype == codes.dtype
        np.testing.assert_array_equal(back, codes)


@given(st.from_type(Layout), st.integers(1, 8), st.booleans(), st.data())
@settings(max_examples=40)
def test_unpack_inverts_pack(layout, bits, signed, data):
    assume(not layout.swizzles)
    assume(layout.locals * bits % 8 == 0)
    storage = storage_for(layout.shape, bits, layout, signed=signed)
    extents = [data.draw(st.integers(0, 2 * n + 1)) for n in layout.shape]
    codes = codes_of(extents, bits, signed, 1)
    packed = pack(codes, storage.to_data())
    np.testing.assert_array_equal(packed, by_hand(codes, storage))
    np.testing.assert_array_equal(unpack(packed, storage.to_data(), codes.shape), codes)


@given(st.integers(1, 8), st.integers(0, 70), st.booleans())
def test_row_packing_is_compact_bits(bits, count, signed):
    storage = {"scheme": "row", "bits": bits, "signed": signed}
    codes = codes_of((count,), bits, signed, count)
    packed = pack(codes, storage)
    assert packed.shape == packed_shape(storage, codes.shape)
    np.testing.assert_array_equal(packed, pack_bits(codes, bits))
    np.testing.assert_array_equal(unpack(packed, storage, codes.shape), codes)


def test_a_large_tensor_is_packed_in_strips():
    storage = storage_for((16, 128), 4, default_layout((16, 128), 4, 32))
    codes = codes_of((3000, 3001), 4, False, 5)
    packed = pack(codes, storage.to_data())
    np.testing.assert_array_equal(unpack(packed, storage.to_data(), codes.shape), codes)
    tile = by_hand(codes[2880:2896, 1280:1408], storage)
    np.testing.assert_array_equal(packed[180, 10], tile[0, 0])


STORAGE = storage_for((16, 8), 4, parse_layout(LAYOUTS[0])).to_data()


@pytest.mark.parametrize(
    ("wrong", "code", "says"),
    [
        (lambda: pack(np.zeros((16, 8), np.float32), STORAGE), "DSL0795", "not float32"),
        (lambda: pack(np.zeros(16, np.uint8), STORAGE), "DSL0795", "2 axes"),
        (lambda: pack(np.full((16, 8), 16, np.uint8), STORAGE), "DSL0796", r"16 at \[0, 0\]"),
        (lambda: pack(np.full((16, 8), -1, np.int8), STORAGE), "DSL0796", "outside 0 to 15"),
        (lambda: unpack(np.zeros(64, np.uint8), STORAGE, (16, 8)), "DSL0795", r"\(1, 1, 64\)"),
    ],
)
def test_what_does_not_fit_is_said(wrong, code, says):
    with pytest.raises(DiagnosticError, match=says) as raised:
        wrong()
    assert raised.value.diagnostics[0].code == code
    assert code in entries()


@pytest.mark.parametrize(
    "change",
    [
        {"scheme": "zip"},
        {"order": [0, 0]},
        {"thread_bytes": 0},
        {"word_bytes": 3},
        {"bits": 9},
        {"modes": []},
        {"modes": [[0], [8]]},
        {"modes": 3},
        {"bits": "four"},
        {"modes": [[1 << 40], [1 << 40]], "order": [0, 1]},
        {"order": None},
    ],
)
def test_a_wrong_description_is_refused(change):
    for use in (lambda s: pack(np.zeros((16, 8), np.uint8), s), lambda s: packed_shape(s, (16, 8))):
        with pytest.raises(DiagnosticError, match=r"DSL0802.*describes no packed storage"):
            use({**STORAGE, **change})
        with pytest.raises(DiagnosticError, match="DSL0802"):
            use({name: value for name, value in STORAGE.items() if name not in change})


@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(st.from_type(Layout), st.sampled_from([1, 2, 3, 4, 5, 6, 7]))
def test_the_bytes_of_a_thread_are_its_bits(layout, bits):
    """The view: byte j of thread t holds bits 8 j to 8 j + 7 of its elements one after another."""
    assume(not layout.swizzles)
    assume(layout.locals * bits % 8 == 0)
    storage = storage_for(layout.shape, bits, layout)
    f = storage.byte_layout
    assert (f.threads, f.replication) == (layout.threads, layout.replication)
    assert f.locals * 8 == layout.locals * bits
    codes = codes_of(layout.shape, bits, False, 3)
    packed = pack(codes, storage.to_data()).reshape(-1)
    for t in range(f.threads):
        held = [int(codes[layout.index(t, i)]) for i in range(layout.locals)]
        number = sum(code << (bits * i) for i, code in enumerate(held))
        taken = bytes(int(packed[f.index(t, j)[0]]) for j in range(f.locals))
        assert int.from_bytes(taken, "little") == number


def test_the_storage_of_the_paper():
    b = parse_layout("local(2, 1).column_spatial(4, 8).local(2, 1)")
    storage = storage_for((16, 8), 6, b)
    assert storage.byte_layout == parse_layout("local(3).spatial(32)")
    wide = parse_layout("spatial(1, 4).local(4, 1).local(2, 1).column_spatial(4, 8).local(2, 1)")
    assert storage_for((64, 32), 4, wide).byte_layout == parse_layout("spatial(128).local(8)")
    assert storage_for((64, 32), 6, wide).byte_layout == parse_layout(
        "local(3).spatial(128).local(4)"
    )
    assert storage_for((1, 16, 1, 8), 6, b).layout == reshape(b, (1, 16, 1, 8))


@given(st.lists(st.integers(1, 12), min_size=1, max_size=3), st.integers(1, 7), st.integers(1, 64))
def test_default_layouts_have_whole_bytes(tile, bits, threads):
    layout = default_layout(tile, bits, threads)
    if layout is None:
        assert int(np.prod(tile)) * bits % 8
        return
    assert layout.shape == tuple(tile)
    assert layout.threads <= threads
    assert storage_for(tile, bits, layout).tile_bytes * 8 == int(np.prod(tile)) * bits


def test_swizzled_registers_have_no_storage():
    with pytest.raises(DiagnosticError, match="swizzle"):
        storage_for((8, 8), 4, parse_layout("swizzle(local(8, 8), dim=1)"))
