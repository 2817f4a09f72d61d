"""Weights as products of two low-rank factors whose rank fills whole blocks of a matrix unit.

The method is that of NeuronMM, section 4.1: y = x W becomes y = x U V, with the rank chosen by a
compression ratio and aligned to a block (Eqs. 4 and 5), and U V the best approximation of W for inputs
like those of a calibration (Eqs. 2, 3, 6 to 8). `merge` adds what a fine-tuning by LoRA found (Eq. 9),
`merge_adapters` the adapters of a whole model.

    factors = compress_weight(w, ratio=0.2, block=128, inputs=x)
    y = x @ factors.u @ factors.v
"""

from dslc.compress.factors import Factors, compress_weight, factorize
from dslc.compress.lora import Adapter, Merged, merge, merge_adapters, read_adapters
from dslc.compress.model import Layer, Plan, compress_model
from dslc.compress.rank import aligned_rank, compression_ratio
from dslc.compress.whitening import whitening, whitening_of_moments

__all__ = [
    "Adapter",
    "Factors",
    "Layer",
    "Merged",
    "Plan",
    "aligned_rank",
    "compress_model",
    "compress_weight",
    "compression_ratio",
    "factorize",
    "merge",
    "merge_adapters",
    "read_adapters",
    "whitening",
    "whitening_of_moments",
]
