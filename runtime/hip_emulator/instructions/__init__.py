"""The instruction set as tables: one file a family; table.py says how a line is read."""

from dslc.runtime.hip_emulator.instructions import (
    comparisons,
    conversions,
    cross_lane,
    dots,
    packed,
    scalar,
    vector_float,
    vector_integer,
)
from dslc.runtime.hip_emulator.instructions.table import Entry

LANEWISE: dict[str, Entry] = {
    **vector_integer.TABLE,
    **vector_float.TABLE,
    **comparisons.TABLE,
    **conversions.TABLE,
    **dots.TABLE,
}
SCALAR: dict[str, Entry] = scalar.TABLE
WHOLE: dict[str, Entry] = cross_lane.TABLE
IN_ALL_LANES = cross_lane.IN_ALL_LANES
PACKED: dict[str, Entry] = packed.TABLE
MIXED: dict[str, Entry] = dots.MIXED

# What gfx950 has beyond gfx942.
_ONLY_GFX950 = (
    "v_ashr_pk_i8_i32", "v_ashr_pk_u8_i32", "v_bitop3_b", "v_prng_b32", "v_minimum3_f32",
    "v_maximum3_f32", "v_cvt_pk_bf16_f32", "v_cvt_pk_f16_f32", "v_cvt_f32_bf16", "v_cvt_scalef32_",
    "v_dot2_f32_bf16", "v_dot2c_f32_bf16", "v_permlane32_swap_b32", "v_permlane16_swap_b32",
    "v_pk_minimum3_f16", "v_pk_maximum3_f16",
)  # fmt: skip


def is_known(mnemonic: str, chip: str) -> bool:
    """Whether a chip has an instruction of the tables above."""
    return chip == "gfx950" or not mnemonic.startswith(_ONLY_GFX950)


__all__ = ["IN_ALL_LANES", "LANEWISE", "MIXED", "PACKED", "SCALAR", "WHOLE", "Entry", "is_known"]
