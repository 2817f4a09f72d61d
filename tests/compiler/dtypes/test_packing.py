"""Compact bits: round trips, and bytes against a big integer."""

import numpy as np
import pytest
from dslc.compiler.dtypes import pack_bits, packed_bytes, unpack_bits
from hypothesis import given
from hypothesis import strategies as st

WIDTHS = range(1, 9)


def oracle(codes: list[int], bits: int) -> bytes:
    number = sum((c & ((1 << bits) - 1)) << (i * bits) for i, c in enumerate(codes))
    return number.to_bytes(-(-len(codes) * bits // 8), "little")


@given(st.integers(1, 8), st.lists(st.integers(0, 255), max_size=70))
def test_packed_bytes_are_one_little_endian_number(bits: int, codes: list[int]) -> None:
    packed = pack_bits(np.array(codes, np.uint8), bits)
    assert packed.dtype == np.uint8
    assert packed.tobytes() == oracle(codes, bits)
    assert packed.size == packed_bytes(len(codes), bits)


@given(st.integers(1, 8), st.binary(max_size=70), st.booleans())
def test_unpack_inverts_pack(bits: int, data: bytes, signed: bool) -> None:
    least = -(1 << (bits - 1)) if signed else 0
    codes = [b % (1 << bits) + least for b in data]
    array = np.array(codes, np.int8 if signed else np.uint8)
    found = unpack_bits(pack_bits(array, bits), bits, len(codes), signed)
    assert found.dtype == array.dtype
    assert found.tolist() == codes


@given(st.integers(1, 8), st.binary(max_size=70))
def test_pack_inverts_unpack(bits: int, data: bytes) -> None:
    count = len(data) * 8 // bits
    codes = unpack_bits(np.frombuffer(data, np.uint8), bits, count)
    assert codes.size == count
    kept = int.from_bytes(data, "little") & ((1 << (count * bits)) - 1)
    assert int.from_bytes(pack_bits(codes, bits).tobytes(), "little") == kept


@pytest.mark.parametrize("bits", WIDTHS)
def test_long_arrays_in_several_chunks(bits: int) -> None:
    codes = np.random.default_rng(bits).integers(0, 1 << bits, 200_003).astype(np.uint8)
    packed = pack_bits(codes, bits)
    expected = np.packbits(
        np.unpackbits(codes[:, None], axis=1, bitorder="little")[:, :bits].reshape(-1),
        bitorder="little",
    )
    np.testing.assert_array_equal(packed, expected)
    np.testing.assert_array_equal(unpack_bits(packed, bits, codes.size), codes)


def test_strided_and_shaped_codes_are_row_major() -> None:
    codes = np.arange(48, dtype=np.uint8).reshape(6, 8)
    assert pack_bits(codes.T, 6).tobytes() == oracle(codes.T.reshape(-1).tolist(), 6)
    wide = np.repeat(pack_bits(codes, 5), 2)[::2]
    np.testing.assert_array_equal(unpack_bits(wide, 5, 48), codes.reshape(-1) & 31)


@pytest.mark.parametrize("bits", [0, 9, -1])
def test_other_widths_are_refused(bits: int) -> None:
    with pytest.raises(ValueError, match="1 to 8 bits"):
        pack_bits(np.zeros(3, np.uint8), bits)
    with pytest.raises(ValueError, match="1 to 8 bits"):
        unpack_bits(np.zeros(3, np.uint8), bits, 1)


def test_wide_codes_and_short_data_are_refused() -> None:
    with pytest.raises(ValueError, match="one a byte"):
        pack_bits(np.zeros(3, np.int32), 4)
    with pytest.raises(ValueError, match="9 codes of 3 bits need 4 bytes, not 3"):
        unpack_bits(np.zeros(3, np.uint8), 3, 9)
