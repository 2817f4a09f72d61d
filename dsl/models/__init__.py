"""Decoder-only language models over dslc's kernels: a checkpoint in, tokens out.

    model = dslc.models.open_model("Qwen3-0.6B", "cpu")
    for token in model.generate(ids, 64): ...
    for number, token in model.batch(16).generate(prompts, 64): ...

`dslc generate` does it from the shell. Families: Llama, Mistral, Qwen 2 and 3, Gemma 2 and 3,
Mixtral.
"""

from dslc.models.batch import Batch
from dslc.models.configuration import ModelConfig, read_config
from dslc.models.decoder import Decoder
from dslc.models.generation import Model, open_model
from dslc.models.sampling import Sampling

__all__ = ["Batch", "Decoder", "Model", "ModelConfig", "Sampling", "open_model", "read_config"]
