"""Modules of torch whose forward runs in dslc's kernels.

    layer = dslc.nn.Linear.of(torch_linear.weight, quantize="u4:128")
    dslc.nn.swap_linears(model, quantize="u4:128")      # every nn.Linear of a model, in place

Weights lie in buffers as the kernels of one target read them, so that `state_dict`, `torch.save`,
pickle and copies have them; torch.compile keeps each kernel whole, also with fullgraph. All have the
gradients of what they take; codes have none.
"""

from dslc.nn.attention import Attention
from dslc.nn.gated import GatedMLP
from dslc.nn.linear import Linear, swap_linears
from dslc.nn.norms import LayerNorm, RMSNorm

__all__ = ["Attention", "GatedMLP", "LayerNorm", "Linear", "RMSNorm", "swap_linears"]
