"""Values between lanes, and between lanes and scalars (CDNA3 ISA, 12.7 and 12.10; CDNA4 ISA, 12.7)."""

# ruff: noqa: E501 - an instruction is a line of a table

from __future__ import annotations

from dslc.runtime.hip_emulator.instructions.table import Entry, read_table

TABLE: dict[str, Entry] = read_table("""
v_readfirstlane_b32 s32 = lanes : a[exec ? __builtin_ctzll(exec) : 0]
v_readlane_b32      s32 = lanes s32 : a[b & 63]
v_writelane_b32     lanes = s32 s32 : d[b & 63] = a;
v_permlane32_swap_b32 lanes lanes = : for (int l = 0; l < 32; l++) { const u32 x = d[l + 32]; d[l + 32] = e[l]; e[l] = x; }
v_permlane16_swap_b32 lanes lanes = : for (int l = 0; l < 64; l++) if (!(l & 16)) { const u32 x = d[l + 16]; d[l + 16] = e[l]; e[l] = x; }
v_swap_b32          lanes lanes = : FOR_LANES if (exec >> l & 1) { const u32 x = d[l]; d[l] = e[l]; e[l] = x; }
""")

# They compute in lanes that EXEC leaves out, too.
IN_ALL_LANES = {
    "v_readlane_b32",
    "v_writelane_b32",
    "v_permlane32_swap_b32",
    "v_permlane16_swap_b32",
}
