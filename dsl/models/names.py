"""Where a checkpoint has the weights of a model: the names of Hugging Face and of GGUF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.models.configuration import ModelConfig
from dslc.quantize import Quantized
from dslc.runtime.elements import Array

_HF = {"embedding": "model.embed_tokens", "norm": "model.norm", "head": "lm_head"}
_HF_LAYER = {
    "q": "self_attn.q_proj",
    "k": "self_attn.k_proj",
    "v": "self_attn.v_proj",
    "o": "self_attn.o_proj",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
    "q_norm": "self_attn.q_norm",
    "k_norm": "self_attn.k_norm",
    "input_norm": "input_layernorm",
}
_EXPERTS = {
    "mixtral": ("block_sparse_moe", {"gate": "w1", "up": "w3", "down": "w2"}),
    "qwen3_moe": ("mlp", {"gate": "gate_proj", "up": "up_proj", "down": "down_proj"}),
}
_HF_NORMS = {"inner_norm": "post_attention_layernorm"}
_HF_POST_NORMS = {
    "post_attention_norm": "post_attention_layernorm",
    "inner_norm": "pre_feedforward_layernorm",
    "post_inner_norm": "post_feedforward_layernorm",
}
_GGUF = {"embedding": "token_embd", "norm": "output_norm", "head": "output"}
_GGUF_LAYER = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "o": "attn_output",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
    "q_norm": "attn_q_norm",
    "k_norm": "attn_k_norm",
    "input_norm": "attn_norm",
    "inner_norm": "ffn_norm",
    "post_attention_norm": "post_attention_norm",
    "post_inner_norm": "post_ffw_norm",
}


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a model by what they do, out of a checkpoint of either kind."""

    checkpoint: Mapping[str, Array | Quantized]
    config: ModelConfig

    def top(self, part: str, suffix: str = "weight") -> Array | Quantized | None:
        """The embedding, the last norm or the head; None where there is none."""
        names = _GGUF if self._is_gguf else _HF
        return self._find(f"{names[part]}.{suffix}")

    def layer(self, number: int, part: str, suffix: str = "weight") -> Array | Quantized | None:
        """A part of a layer, such as `q` or `inner_norm`; None where there is none."""
        if self._is_gguf:
            weight = self._find(f"blk.{number}.{_GGUF_LAYER[part]}.{suffix}")
            if part in ("q", "k") and weight is not None and self.config.family == "llama":
                return _halves_of_heads(weight, self.config.head_size)
            return weight
        norms = _HF_POST_NORMS if self.config.post_norms else _HF_NORMS
        module = {**_HF_LAYER, **norms}.get(part)
        return self._find(f"model.layers.{number}.{module}.{suffix}") if module else None

    def need(self, number: int, part: str) -> Array | Quantized:
        """A part of a layer that must be there: DSL0785 where it is not."""
        weight = self.layer(number, part)
        if weight is None:
            raise error("DSL0785", f"the checkpoint has no {part} of layer {number}")
        return weight

    def router(self, number: int) -> Array | Quantized:
        """What scores the experts of a layer, [experts, hidden]. DSL0785 where it is missing."""
        name = f"model.layers.{number}.{_EXPERTS[self.config.family][0]}.gate.weight"
        return self._need(name)

    def expert(self, number: int, expert: int, part: str) -> Array | Quantized:
        """`gate`, `up` or `down` of an expert. DSL0785 where it is missing."""
        module, names = _EXPERTS[self.config.family]
        at = f"model.layers.{number}.{module}.experts.{expert}"
        return self._need(f"{at}.{names[part]}.weight")

    def _need(self, name: str) -> Array | Quantized:
        weight = self._find(name)
        if weight is None:
            raise error("DSL0785", f"the checkpoint has no {name}")
        return weight

    def need_top(self, part: str) -> Array | Quantized:
        """The embedding, the last norm or the head, which must be there: DSL0785 where it is not."""
        weight = self.top(part)
        if weight is None:
            raise error("DSL0785", f"the checkpoint has no {part}")
        return weight

    @property
    def _is_gguf(self) -> bool:
        return "token_embd.weight" in self.checkpoint

    def _find(self, name: str) -> Array | Quantized | None:
        for prefix in ("", "language_model.", "model.language_model."):
            full = prefix + (name.removeprefix("model.") if prefix.startswith("model.") else name)
            if full in self.checkpoint:
                return self.checkpoint[full]
        return None


def _halves_of_heads(weight: Array | Quantized, head_size: int) -> Array | Quantized:
    """Queries or keys whose pairs lie side by side, as GGUF has Llama's, with their halves apart."""
    columns = weight.codes.shape[1] if isinstance(weight, Quantized) else weight.shape[0]
    order = np.arange(columns).reshape(-1, head_size // 2, 2).swapaxes(1, 2).reshape(-1)
    if not isinstance(weight, Quantized):
        return weight[order]

    def chosen(array: Array | None) -> Array | None:
        return None if array is None else np.ascontiguousarray(array[:, order])

    return replace(
        weight,
        codes=np.ascontiguousarray(weight.codes[:, order]),
        scales=np.ascontiguousarray(weight.scales[:, order]),
        zero_points=chosen(weight.zero_points),
        offsets=chosen(weight.offsets),
    )
