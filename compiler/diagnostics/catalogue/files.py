"""DSL0778, DSL078x and DSL079x: files of tensors, checkpoints, quantisation and packs."""

ENTRIES: dict[str, tuple[str, str]] = {
    "DSL0778": (
        "an import that cannot be written or used",
        """
`dslc import` writes a folder for named targets, with a dtype, a length and a rounding of its own, and
its description last. The folder holds something else, cannot be written, is not whole, or is asked for
another target or setting than it was made for. What a stopped import has finished stays, and the same
command goes on with it.

Wrong: dslc generate imported-for-cpu -t cuda
Right: dslc import MODEL -t cpu -t cuda:sm_90a -o imported
""",
    ),
    "DSL0780": (
        "a tensor file that cannot be read",
        """
The file of tensors does not exist, is not a plain file, or may not be read.

Wrong: `--input w=model.safetensor:layer.weight`.
Right: `--input w=model.safetensors:layer.weight`.
""",
    ),
    "DSL0781": (
        "a file that is no safetensors file",
        """
A safetensors file is 8 bytes of header length, a JSON header and the tensors' bytes, and ends with the
last of them. This one ends early, has bytes that belong to no tensor, or its header is not such JSON. A
download that broke off is the usual reason.

Wrong: the first half of model.safetensors.
Right: the whole file; compare its size or checksum with the publisher's.
""",
    ),
    "DSL0782": (
        "a tensor that its file describes wrongly",
        """
The header gives each tensor a dtype, a shape and a range of bytes. Here the range does not fit the
shape, overlaps another, leaves bytes between two tensors, or the description is not of that form.

Wrong: `{"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}`: two floats take 8 bytes.
Right: `{"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}`.
""",
    ),
    "DSL0783": (
        "a tensor of an element type that is not read",
        """
The file is right, but the tensor's elements are packed in a way that has no array type (F4 and the
6-bit floats are stored without padding). The file's other tensors can be read.

Wrong: a tensor of dtype F4 as an input.
Right: the same numbers stored as U8 codes, one a byte.
""",
    ),
    "DSL0784": (
        "a file that is no GGUF file",
        """
A GGUF file is a header, key-value pairs, descriptions of tensors and their data. This one ends early,
promises more than it holds, or has values of no known type; the message names the byte.

Wrong: the first half of model.gguf.
Right: the whole file, of version 2 or 3, little-endian; compare its size or checksum.
""",
    ),
    "DSL0785": (
        "parts of a checkpoint that do not fit each other",
        """
A quantised weight consists of several tensors (codes, scales, zero points), and a model of several
files with an index and config.json. One of them is missing, or its shape is not what the others ask
for.

Wrong: a folder with model-00001-of-00002.safetensors alone.
Right: every file that model.safetensors.index.json names, and config.json.
""",
    ),
    "DSL0786": (
        "a quantisation that is not read",
        """
The checkpoint is of a format, or has a form of one, that there is no reader for. docs/checkpoints.md
lists those that are read.

Wrong: a GGUF file with tensors of IQ2_XXS.
Right: the same model in Q4_K, or its float weights and `dslc.quantize`.
""",
    ),
    "DSL0787": (
        "a model that is not built",
        """
A checkpoint's config.json, or GGUF's metadata, says what the model is made of. Its family or one of
its parts is not among those that `dslc.models` builds, or a size is missing. Its weights can be read
all the same (`dslc.checkpoints`).

Wrong: dslc generate whisper-small
Right: dslc generate Llama-3.2-1B
""",
    ),
    "DSL0788": (
        "a prompt that does not fit",
        """
A prompt has at least one token, all of them the model's, and there is room in its caches for them and
for the new ones.

Wrong: dslc generate MODEL -p TEXT -n 5000 --length 4096
Right: dslc generate MODEL -p TEXT -n 1000 --length 4096
""",
    ),
    "DSL0789": (
        "a text without a tokenizer",
        """
A text becomes tokens by the checkpoint's tokenizer.json, which the package `tokenizers` reads.

Wrong: dslc generate model.gguf -p TEXT      without tokenizer.json beside it
Right: dslc generate model.gguf --ids 1,306,4658
""",
    ),
    "DSL0790": (
        "These weights cannot be quantised so",
        "`dslc.quantize` takes a matrix [K, N] of finite floats, a dtype of 1 to 8 bits, and a group "
        "that divides K; the scales must lie in the range of their dtype.\n\n"
        "Wrong:  quantize(w, 'u4', group=100)    # w has 4096 rows\n"
        "Right:  quantize(w, 'u4', group=128)",
    ),
    "DSL0791": (
        "A session's key is that of another dispatch",
        "A session keeps the dispatch of a key with its buffers. Another kernel, or a kernel of "
        "another machine, has a key of its own.\n\n"
        "Wrong:  session.dispatch(lib.rope, 5, ...)    # 5 is the key of lib.gemm\n"
        "Right:  session.dispatch(lib.rope, ('rope', 5), ...)",
    ),
    "DSL0792": (
        "Rows that a buffer has not",
        "`rows(start, stop)` of a buffer are rows of its own memory, counted from 0; `stop` is not one "
        "of them.\n\n"
        "Wrong:  cache.rows(2048, 2049)    # of a buffer of 2048 rows\n"
        "Right:  cache.rows(2047, 2048)",
    ),
    "DSL0793": (
        "A launch would reach rows beside a buffer's",
        "An NPU moves whole blocks. Where a kernel's blocks have more rows than a buffer that is rows "
        "of a larger one, it would read or write the rows after them.\n\n"
        "Wrong:  step(x, cache.rows(5, 8))     # blocks of 16 rows, of a kernel compiled for 3\n"
        "Right:  rows by multiples of the block, one row (kernels for one row do it alone), or a "
        "buffer of its own and a copy",
    ),
    "DSL0794": (
        "An input was never written",
        "A dispatch has a buffer of its own for each tensor that it was not given. An input's holds "
        "nothing until a call gives an array for it.\n\n"
        "Wrong:  step = session.dispatch(lib.rmsnorm, 'norm', M=4, H=64); step(g=gains)\n"
        "Right:  step(x=activation, g=gains)",
    ),
    "DSL0795": (
        "These are not the codes or the bytes of a low-bit tensor",
        "`pack` takes codes, one element a byte, in the tensor's shape: int8 or uint8 values of an "
        "integer dtype, uint8 bit patterns of a float. `unpack` takes what `pack` gave.\n\n"
        "Wrong:  lib.w4a16.pack('w', weights.astype('float32'))\n"
        "Right:  lib.w4a16.pack('w', codes.astype('uint8'))",
    ),
    "DSL0796": (
        "A code does not fit the dtype",
        "A code of u4 is 0 to 15, of i4 -8 to 7; of a float of b bits it is a bit pattern below "
        "2**b.\n\n"
        "Wrong:  pack('w', codes)                  # a u4 parameter, with a code of 16\n"
        "Right:  pack('w', codes.clip(0, 15))",
    ),
    "DSL0797": (
        "This weight cannot be compressed so",
        "Low-rank factors of a matrix [k, n] have a rank of whole blocks, at least one and at most as "
        "many as min(k, n) holds, and save a share of the parameters from 0 up to 1.\n\n"
        "Wrong:  dslc compress model.safetensors --ratio 0.2 --block 4096    # weights of 1024 rows\n"
        "Right:  dslc compress model.safetensors --ratio 0.2 --block 128",
    ),
    "DSL0798": (
        "A calibration that does not fit",
        "A calibration holds inputs of the weights: finite activations [rows, k] for weights of k "
        "inputs, in one array for all of them, or by the weights' names without `.weight`.\n\n"
        "Wrong:  --calibration x.npy      with 1024 columns, where every weight takes 2048 inputs\n"
        "Right:  --calibration x.npy      with 2048 columns",
    ),
    "DSL0799": (
        "Adapters that cannot be merged",
        "Adapters of LoRA are pairs NAME.lora_A.weight [l, in] and NAME.lora_B.weight [out, l], as "
        "PEFT saves them, of layers that the model has: NAME.u and NAME.v of a compressed weight, or "
        "NAME of NAME.weight. Their scale stands in adapter_config.json. Biases, embeddings, whole "
        "modules and DoRA's magnitudes are no such sums.\n\n"
        "Wrong:  dslc compress small.safetensors --lora adapter    # trained on up_proj itself\n"
        "Right:  dslc compress small.safetensors --lora adapter    # on up_proj.u and up_proj.v",
    ),
}
