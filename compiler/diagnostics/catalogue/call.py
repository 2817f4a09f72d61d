"""DSL07xx: arguments at the call, buffers, files and packs."""

ENTRIES: dict[str, tuple[str, str]] = {
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

Wrong: a PyTorch parameter that tracks gradients.
Right: `x.detach()`.
""",
    ),
    "DSL0770": (
        "a tensor file that cannot be read",
        """
The file of tensors does not exist, is not a plain file, or may not be read.

Wrong: `--input w=model.safetensor:layer.weight`.
Right: `--input w=model.safetensors:layer.weight`.
""",
    ),
    "DSL0771": (
        "a file that is no safetensors file",
        """
A safetensors file is 8 bytes of header length, a JSON header and the tensors' bytes, and ends with the
last of them. This one ends early, has bytes that belong to no tensor, or its header is not such JSON. A
download that broke off is the usual reason.

Wrong: the first half of model.safetensors.
Right: the whole file; compare its size or checksum with the publisher's.
""",
    ),
    "DSL0772": (
        "a tensor that its file describes wrongly",
        """
The header gives each tensor a dtype, a shape and a range of bytes. Here the range does not fit the
shape, overlaps another, leaves bytes between two tensors, or the description is not of that form.

Wrong: `{"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}`: two floats take 8 bytes.
Right: `{"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}`.
""",
    ),
    "DSL0773": (
        "a tensor of an element type that is not read",
        """
The file is right, but the tensor's elements are packed in a way that has no array type (F4 and the
6-bit floats are stored without padding). The file's other tensors can be read.

Wrong: a tensor of dtype F4 as an input.
Right: the same numbers stored as U8 codes, one a byte.
""",
    ),
}
