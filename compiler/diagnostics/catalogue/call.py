"""DSL07xx: arguments at the call, buffers, files and packs."""

ENTRIES: dict[str, tuple[str, str]] = {
    "DSL0780": (
        "These are not the codes or the bytes of a low-bit tensor",
        "`pack` takes codes, one element a byte, in the tensor's shape: int8 or uint8 values of an "
        "integer dtype, uint8 bit patterns of a float. `unpack` takes what `pack` gave, and the shape.\n\n"
        "Wrong:  lib.w4a16.pack(\"w\", weights.astype('float32'))\n"
        "Right:  lib.w4a16.pack(\"w\", codes.astype('uint8'))",
    ),
    "DSL0781": (
        "A code does not fit the dtype",
        "A code of u4 is 0 to 15, of i4 -8 to 7; of a float of b bits it is a bit pattern below "
        "2**b.\n\n"
        "Wrong:  pack(\"w\", codes)                  # a u4 parameter, with a code of 16\n"
        "Right:  pack(\"w\", codes.clip(0, 15))",
    ),
    "DSL0790": (
        "These weights cannot be quantised so",
        "`dslc.quantize` takes a matrix [K, N] of finite floats, a dtype of 1 to 8 bits, and a group "
        "that divides K; the scales must lie in the range of their dtype.\n\n"
        "Wrong:  quantize(w, 'u4', group=100)    # w has 4096 rows\n"
        "Right:  quantize(w, 'u4', group=128)",
    ),
}
