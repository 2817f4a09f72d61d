"""Decoder-only language models over dslc's kernels: a checkpoint in, tokens out.

    model = dslc.models.open_model("Qwen3-0.6B", "cpu")
    for token in model.generate(ids, 64): ...

`dslc generate` does it from the shell. Families: Llama, Mistral, Qwen 2 and 3, Gemma 2 and 3, dense.
"""

from dslc.models.configuration import ModelConfig, read_config
from dslc.models.decoder import Decoder
from dslc.models.generation import Model, open_model
from dslc.models.sampling import Sampling

__all__ = ["Decoder", "Model", "ModelConfig", "Sampling", "open_model", "read_config"]
