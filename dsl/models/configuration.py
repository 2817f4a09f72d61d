"""What a model is made of, read from config.json or from GGUF's metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dslc.compiler.diagnostics import error
from dslc.models.rotation import Rotation

FAMILIES = (
    "llama",
    "mistral",
    "mixtral",
    "qwen2",
    "qwen3",
    "qwen3_moe",
    "gemma2",
    "gemma3",
    "gemma3_text",
)

MIXTURES = ("mixtral", "qwen3_moe")


@dataclass(frozen=True, slots=True)
class Experts:
    """A mixture: each row goes through `chosen` of `count` feed-forward halves of `inner` elements.

    Their shares add up to 1 where they are `normed`. `layers` are those that have experts.
    """

    count: int
    chosen: int
    inner: int
    normed: bool
    layers: frozenset[int]


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Sizes and kinds of a decoder-only model.

    `windows` has a number of keys for each layer, 0 where a query sees all before it, and `rotations`
    the angles of each layer. `head_norms` says that heads of queries and keys are normalised,
    `post_norms` that what a half of a layer gives is. `gate` is the kernel of the feed-forward half.
    Norms multiply by `norm_offset` + g.
    """

    family: str
    layers: int
    hidden: int
    heads: int
    key_heads: int
    head_size: int
    inner: int
    vocabulary: int
    eps: float
    positions: int
    scale: float
    windows: tuple[int, ...]
    rotations: tuple[Rotation, ...]
    gate: str = "silu_gate"
    head_norms: bool = False
    post_norms: bool = False
    norm_offset: float = 0.0
    embedding_factor: float = 1.0
    attention_cap: float = 0.0
    logit_cap: float = 0.0
    stops: tuple[int, ...] = field(default=())
    experts: Experts | None = None

    def has_experts(self, layer: int) -> bool:
        """Whether a layer's feed-forward half is a mixture."""
        return self.experts is not None and layer in self.experts.layers


def read_config(config: Mapping[str, Any]) -> ModelConfig:
    """Of config.json, or of a GGUF file's metadata.

    DSL0787 for a family that is not built, or a description that lacks a size.
    """
    config = described(config)
    if isinstance(config.get("text_config"), Mapping) and "hidden_size" not in config:
        config = config["text_config"]
    family = str(config.get("model_type", ""))
    if family not in FAMILIES:
        raise error(
            "DSL0787",
            f"models of the family {family or 'unknown'!r} are not built",
            hint="there are " + ", ".join(FAMILIES),
        )
    has_experts = config.get("num_local_experts") or config.get("num_experts")
    if config.get("mlp_bias") or (has_experts and family not in MIXTURES):
        raise error(
            "DSL0787", f"this {family} has experts or biases in its MLP, which are not built"
        )
    gemma = family.startswith("gemma")
    layers, hidden, heads = (
        _size(config, n) for n in ("num_hidden_layers", "hidden_size", "num_attention_heads")
    )
    head_size = config.get("head_dim") or hidden // heads
    windows = _windows(config, family, layers)
    whole, local = _rotations(config, head_size)
    scale = float(config.get("query_pre_attn_scalar") or head_size) ** -0.5
    return ModelConfig(
        family,
        layers,
        hidden,
        heads,
        int(config.get("num_key_value_heads") or heads),
        head_size,
        _size(config, "intermediate_size"),
        _size(config, "vocab_size"),
        float(config.get("rms_norm_eps", 1e-6)),
        int(config.get("max_position_embeddings", 2048)),
        scale,
        windows,
        tuple(local if w else whole for w in windows),
        gate="gelu_gate" if gemma else "silu_gate",
        head_norms=family in ("qwen3", "qwen3_moe", "gemma3", "gemma3_text"),
        post_norms=gemma,
        norm_offset=1.0 if gemma and not config.get("norms_are_whole") else 0.0,
        embedding_factor=hidden**0.5 if gemma else 1.0,
        attention_cap=float(config.get("attn_logit_softcapping") or 0.0) if gemma else 0.0,
        logit_cap=float(config.get("final_logit_softcapping") or 0.0) if gemma else 0.0,
        stops=_stops(config.get("eos_token_id")),
        experts=_experts(config, family, layers) if family in MIXTURES else None,
    )


def described(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """What config.json says, or would say of a GGUF file."""
    return _from_gguf(found) if "general.architecture" in found else found


def _size(found: Mapping[str, Any], name: str) -> int:
    value = found.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise error("DSL0787", f"the model's description has no {name}, but {value!r}")
    return value


def _experts(found: Mapping[str, Any], family: str, layers: int) -> Experts:
    count = found.get("num_experts") or found.get("num_local_experts")
    size = _size(found, "intermediate_size" if family == "mixtral" else "moe_intermediate_size")
    step = int(found.get("decoder_sparse_step") or 1)
    plain = found.get("mlp_only_layers") or ()
    sparse = frozenset(i for i in range(layers) if i not in plain and (i + 1) % step == 0)
    chosen = _size(found, "num_experts_per_tok")
    if not isinstance(count, int) or not 0 < chosen <= count:
        raise error("DSL0787", f"{chosen} of {count!r} experts cannot be chosen")
    normed = family == "mixtral" or bool(found.get("norm_topk_prob"))
    return Experts(count, chosen, size, normed, sparse)


def _windows(found: Mapping[str, Any], family: str, layers: int) -> tuple[int, ...]:
    """The keys that a query of each layer sees, 0 for all."""
    size = int(found.get("sliding_window") or 0)
    if not size or found.get("use_sliding_window") is False:
        return (0,) * layers
    kinds = found.get("layer_types")
    if isinstance(kinds, list) and len(kinds) == layers:
        return tuple(size if kind == "sliding_attention" else 0 for kind in kinds)
    if family in ("mistral", "mixtral"):
        return (size,) * layers
    if family == "gemma2":
        return tuple(0 if i % 2 else size for i in range(layers))
    if family.startswith("gemma3"):
        pattern = int(found.get("sliding_window_pattern") or 6)
        return tuple(0 if (i + 1) % pattern == 0 else size for i in range(layers))
    return (0,) * layers


def _rotations(found: Mapping[str, Any], head_size: int) -> tuple[Rotation, Rotation]:
    """Of layers that see all keys, and of those with a window."""
    theta = float(found.get("rope_theta") or 10000.0)
    scaling = found.get("rope_scaling")
    described = found.get("rope_parameters")
    if not isinstance(described, Mapping):
        described = {"rope_theta": theta, **(scaling if isinstance(scaling, Mapping) else {})}
    if "full_attention" in described:
        whole = Rotation.of(head_size, described["full_attention"])
        return whole, Rotation.of(head_size, described.get("sliding_attention", {}))
    whole = Rotation.of(head_size, {"rope_theta": theta, **described})
    local = found.get("rope_local_base_freq")
    return whole, Rotation.of(head_size, {"rope_theta": local}) if local else whole


def _stops(found: object) -> tuple[int, ...]:
    if isinstance(found, int):
        return (found,)
    return tuple(n for n in found if isinstance(n, int)) if isinstance(found, list) else ()


def _from_gguf(found: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata under the names of config.json."""
    family = str(found["general.architecture"])

    def get(name: str, default: Any = None) -> Any:
        return found.get(f"{family}.{name}", default)

    tokens = found.get("tokenizer.ggml.tokens")
    return {
        "model_type": family,
        "num_hidden_layers": get("block_count"),
        "hidden_size": get("embedding_length"),
        "num_attention_heads": get("attention.head_count"),
        "num_key_value_heads": get("attention.head_count_kv"),
        "head_dim": get("attention.key_length"),
        "intermediate_size": get("feed_forward_length"),
        "vocab_size": get("vocab_size", len(tokens) if isinstance(tokens, list) else None),
        "rms_norm_eps": get("attention.layer_norm_rms_epsilon", 1e-6),
        "max_position_embeddings": get("context_length", 2048),
        "rope_theta": get("rope.freq_base", 10000.0),
        "sliding_window": get("attention.sliding_window"),
        "attn_logit_softcapping": get("attn_logit_softcapping"),
        "final_logit_softcapping": get("final_logit_softcapping"),
        "eos_token_id": found.get("tokenizer.ggml.eos_token_id"),
        "norms_are_whole": True,  # Gemma's gains have the 1 added in GGUF
    }
