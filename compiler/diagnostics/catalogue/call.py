"""DSL07xx: arguments at the call, buffers, files and packs."""

ENTRIES: dict[str, tuple[str, str]] = {
    "DSL0751": (
        "An argument has the wrong number of axes",
        "A tensor parameter `a: f16[M, K]` takes an array with as many axes as it has dims.\n\n"
        "Wrong:  kernel(a.ravel())\n"
        "Right:  kernel(a)    # a.shape == (M, K)",
    ),
    "DSL0752": (
        "An argument has the wrong shape",
        "A dim gets its value from the first argument that has it as an axis of its own; everywhere "
        "else the axis must agree with it, and an axis such as `K // G` with what it comes to.\n\n"
        "Wrong:  a: f16[M, K], w: u4[K, N] with arrays of shapes (16, 4096) and (4095, 128)\n"
        "Right:  arrays of shapes (16, 4096) and (4096, 128)",
    ),
    "DSL0753": (
        "An argument has the wrong strides",
        "`a: f16[M, K] strides (sm, 1)` fixes how the elements lie in memory, counted in elements: "
        "here the last axis is dense.\n\n"
        "Wrong:  kernel(a.T)\n"
        "Right:  kernel(numpy.ascontiguousarray(a.T))",
    ),
    "DSL0754": (
        "Nothing gives a dim its value",
        "A dim is bound where it is an axis of its own: `x: f32[N // 2]` alone does not say what N "
        "is.\n\n"
        "Wrong:  kernel f(x: f32[N // 2])\n"
        "Right:  fix the dim with -D N=4096, or declare a parameter that has N as an axis",
    ),
    "DSL0755": (
        "An argument is missing or unknown",
        "Every parameter needs an argument, and every name must be a parameter's.\n\n"
        "Wrong:  kernel(a=a, weight=w)    # the parameter is called w\n"
        "Right:  kernel(a=a, w=w)",
    ),
    "DSL0756": (
        "An argument has the wrong element type",
        "Arrays hold a dtype's storage: f16 is float16, bf16 is ml_dtypes.bfloat16, i8 and narrower "
        "are int8, u8 and narrower are uint8, floats of at most 8 bits are bit patterns in uint8 or "
        "the type of the same name in ml_dtypes.\n\n"
        "Wrong:  a: f16[M, K] with an array of float32\n"
        "Right:  a.astype(numpy.float16)",
    ),
    "DSL0757": (
        "A read-only array is to be written",
        "The arrays of `out` and `inout` parameters are written in place.\n\n"
        "Wrong:  c = numpy.broadcast_to(0.0, (16, 16)); kernel(a, c)\n"
        "Right:  c = numpy.empty((16, 16)); kernel(a, c)",
    ),
    "DSL0758": (
        "A scalar argument does not fit",
        "A scalar parameter takes a number of its dtype: whole and in range for integers, True or "
        "False for bool.\n\n"
        "Wrong:  n: i32 with 2.5 or 2**40\n"
        "Right:  n: i32 with 3",
    ),
    "DSL0759": (
        "A requirement does not hold",
        "The kernel says what it needs of its arguments with `require`; the compiler relies on it.\n\n"
        "Wrong:  require K % 128 == 0, called with K = 100\n"
        "Right:  pad the arrays, or choose another kernel",
    ),
    "DSL0790": (
        "These weights cannot be quantised so",
        "`dslc.quantize` takes a matrix [K, N] of finite floats, a dtype of 1 to 8 bits, and a group "
        "that divides K; the scales must lie in the range of their dtype.\n\n"
        "Wrong:  quantize(w, 'u4', group=100)    # w has 4096 rows\n"
        "Right:  quantize(w, 'u4', group=128)",
    ),
}
