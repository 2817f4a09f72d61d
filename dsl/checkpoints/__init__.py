"""Models as others publish them, read into codes, scales and tables that kernels take as they are.

    checkpoint = dslc.checkpoints.open_checkpoint("Llama-3.2-1B-GPTQ")     # a folder, or a .gguf file
    w = checkpoint.read("model.layers.0.mlp.up_proj.weight")               # Quantized, or an array
    packed = lib.linear.pack("w", w.codes)

Formats: safetensors (one file or shards with their index) of floats, GPTQ, AWQ, compressed-tensors,
bitsandbytes, FP8 with scales and MLX; GGUF. Codes are taken bit for bit: nothing is quantised again.
"""

from dslc.checkpoints.checkpoint import Checkpoint, open_checkpoint

__all__ = ["Checkpoint", "open_checkpoint"]
