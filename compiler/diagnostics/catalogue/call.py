"""DSL07xx: arguments at the call, and buffers; `files` has the rest of the range."""

ENTRIES: dict[str, tuple[str, str]] = {
    "DSL0740": (
        "A function of the language is called outside a kernel",
        "The names of `dslc.lang` say what a kernel does. A kernel's body is compiled from its source "
        "and never executed, so in plain Python they have nothing to do. Layouts are the exception.\n\n"
        "Wrong:  acc = zeros(f32, [16, 16])    # in a plain function\n"
        "Right:  @dslc.kernel above the function; numpy.zeros((16, 16), numpy.float32) elsewhere",
    ),
    "DSL0741": (
        "An argument is given twice",
        "An argument is passed by its position or by its parameter's name, not both.\n\n"
        "Wrong:  lib.add(x, y, z, x=x)\n"
        "Right:  lib.add(x, y, z)",
    ),
    "DSL0742": (
        "An output shares memory with another argument",
        "Parallel turns run in any order and at once, and the compiler keeps what it has read: it "
        "relies on outputs having memory of their own, an element each. Inputs may share memory with "
        "each other.\n\n"
        "Wrong:  lib.softmax(x, x)\n"
        "Right:  y = numpy.empty_like(x); lib.softmax(x, y)\n"
        "        or a kernel with the one parameter `x: inout f32[M, N]`",
    ),
    "DSL0743": (
        "A stated dim or choice is not that of the call",
        "A dim given by name is checked against the arguments' shapes. A specialisation has its tune "
        "choices for good.\n\n"
        "Wrong:  lib.gemm(a, b, c, K=128)    # a.shape == (16, 4096)\n"
        "Right:  lib.gemm(a, b, c, K=4096)",
    ),
    "DSL0744": (
        "The library has no such kernel",
        "A library has the kernels and programs of its file, those that it imports included. "
        "`list(lib)` names them.\n\n"
        "Wrong:  lib.sofmax(x, y)\n"
        "Right:  lib.softmax(x, y)",
    ),
    "DSL0745": (
        "The kernel has no such stage",
        "A kernel can be shown as `tile` (its source in canonical form), `ir` (Tile IR as the checker "
        "gives it), after each pass by the pass's name, and `final` (what its machine takes). A kernel "
        "from a package has the last alone.\n\n"
        'Wrong:  lib.gemm.source("simplfy")\n'
        'Right:  lib.gemm.source("simplify")',
    ),
    "DSL0746": (
        "What is packed is no codes of a low-bit parameter",
        "`pack` and `unpack` are for tensor parameters of dtypes below 8 bits. `pack` takes codes, one "
        "element a byte, of the parameter's rank.\n\n"
        'Wrong:  lib.w4a16.pack("a", activations)\n'
        'Right:  lib.w4a16.pack("w", codes)    # codes.shape == (K, N)',
    ),
    "DSL0747": (
        "The package holds no kernel for these arguments",
        "A package holds kernels that were compiled ahead of time, each for its fixed dims and tune "
        "choices. None of them fits this call.\n\n"
        "Wrong:  a kernel saved for K = 4096 called with K = 1024\n"
        "Right:  lib.save(path, [lib.gemm.specialize(K=1024), lib.gemm.specialize(K=4096)])",
    ),
    "DSL0748": (
        "The operator cannot be registered with torch",
        "An operator of torch has a name of its own in its namespace, and keeps it while the process "
        "runs.\n\n"
        "Wrong:  dslc.torch_op(a.scale); dslc.torch_op(b.scale)\n"
        "Right:  dslc.torch_op(a.scale); dslc.torch_op(b.scale, 'scale_rows')",
    ),
    "DSL0749": (
        "A call would have to compile its kernel",
        "With `DSLC_JIT=error` calls run what was compiled before: by `specialize` or `specialize_for` "
        "in this process, into a package that was loaded, or into the compile cache. So a service "
        "learns at its start, and not at a call, that a kernel is missing.\n\n"
        "Wrong:  DSLC_JIT=error, and lib.gemm(a, w, c) with shapes that nobody compiled for\n"
        'Right:  lib.gemm.specialize_for({"M": 16, "K": 4096, "N": 4096}) before the calls',
    ),
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
        "here the last axis is dense. No axis of an array on a GPU runs backwards.\n\n"
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
        "are int8, u8 and narrower are uint8, with every value in the range of the dtype; floats of at "
        "most 8 bits are bit patterns in uint8 or the type of the same name in ml_dtypes.\n\n"
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
    "DSL0760": (
        "an argument that is no array",
        """
A tensor parameter takes an array: NumPy's, or one of a library that exports DLPack (PyTorch, JAX,
CuPy). Lists and numbers are not converted, because the kernel works on the array's own memory: what it
wrote to a hidden copy would be lost.

Wrong: `lib.add([1, 2, 3], y, out)`.
Right: `lib.add(np.asarray([1, 2, 3], dtype=np.float32), y, out)`.
""",
    ),
    "DSL0761": (
        "an array of another element type",
        """
The array's element type must be the parameter's: f16 is float16, bf16 is ml_dtypes.bfloat16 (or
torch.bfloat16), integers below 8 bits are codes in int8 or uint8, floats of 8 bits and fewer are bit
patterns in uint8 or arrays of their ml_dtypes type. Nothing is converted silently.

Wrong: a float64 array for `a: f32[M, K]`.
Right: `a.astype("float32")`.
""",
    ),
    "DSL0762": (
        "a tensor on another device",
        """
The tensor lies in a device's memory that the kernel's target cannot reach.

Wrong: a CUDA tensor passed to a kernel that was compiled for the host or the interpreter.
Right: `x.cpu()` (CuPy: `x.get()`), or a kernel compiled for the tensor's device.
""",
    ),
    "DSL0763": (
        "a read-only array for an output",
        """
A parameter marked `out` or `inout` is written in place, and this array does not allow it: it is marked
read-only, it is a view of such an array, or its library's arrays are values (JAX).

Wrong: `lib.add(x, y, jnp.zeros(n))`.
Right: `out = np.empty(n, np.float32); lib.add(x, y, out)`.
""",
    ),
    "DSL0764": (
        "a tensor that cannot be read through DLPack",
        """
The tensor's library refused to export it, or its elements are of a type that NumPy and ml_dtypes lack.

Wrong: a sparse or lazily conjugated PyTorch tensor.
Right: `x.to_dense()`, `x.resolve_conj()`.
""",
    ),
    "DSL0765": (
        "arguments on different devices",
        """
All tensors of a call lie on one device, where the kernel runs.

A torch tensor of the host beside those of a GPU is refused as well; a NumPy array is copied there.

Wrong: `lib.add(x, y, z)` with x on cuda:0 and y on cuda:1.
Right: `y.to(x.device)` first.
""",
    ),
    "DSL0766": (
        "a misaligned array",
        """
A kernel that was compiled ahead of time reads memory in words of 16 bytes, so that an array must begin
at a multiple of that. What a library allocates does; a slice that begins in between does not. Kernels
for such slices are built with `--unaligned`; a kernel that is compiled at its call is made for what it
gets. Even then an element must lie at a multiple of its own size.

Wrong: `dslc.load("package").scale(x[1:], y)`, x a vector of f16.
Right: `dslc build scale.tile -t cuda:sm_90a --unaligned -o package`, or `x[1:].clone()`.
""",
    ),
    "DSL0767": (
        "what is passed for a stream is none",
        """
A stream is an integer handle, a `torch.cuda.Stream`, a CuPy stream, or an object with the method
`__cuda_stream__`.

Wrong: `dslc.options(stream="default")`.
Right: `dslc.options(stream=torch.cuda.current_stream())`.
""",
    ),
    "DSL0768": (
        "weights that were packed for another kernel",
        """
How weights are packed follows from the kernel, the machine and the tune choices. The array that
`pack` gives knows its storage, and a kernel with another one refuses it, be their shapes equal.
Copies, torch tensors and files made of it do not know it: pack them for the kernel that reads them.

Wrong: `arm.gemm(a, gpu.gemm.pack("w", codes), c)`.
Right: `arm.gemm(a, arm.gemm.pack("w", codes), c)`.
""",
    ),
}
