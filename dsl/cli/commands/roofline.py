"""`dslc roofline`: the bounds of a language model's speed on a machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from dslc.cli.pages import Documented
from dslc.cli.session import session_options

if TYPE_CHECKING:
    from dslc.compiler.cost.roofline import Decoder, Part, Peaks

_EXAMPLES = """
dslc roofline qwen-1.8b --matrix 2784e9 --vector 352e9 --bandwidth 99.274e9
dslc roofline qwen-1.8b --matrix 2784e9 --vector 352e9 --bandwidth 99.274e9 --prompt 560 --context 585
dslc roofline config.json --bits 4 --group 32 --matrix 3.3e12 --vector 4e11 --bandwidth 1.2e11
"""
# The keys of a model's config.json, as Hugging Face has them, and the fields they give.
_KEYS = {
    "num_hidden_layers": "layers",
    "hidden_size": "hidden",
    "intermediate_size": "intermediate",
    "vocab_size": "vocabulary",
    "num_attention_heads": "heads",
    "num_key_value_heads": "kv_heads",
}


@click.command("roofline", cls=Documented, examples=_EXAMPLES)
@click.argument("model")
@click.option("--matrix", type=float, required=True, help="Integer operations a second, 2 a MAC.")
@click.option("--vector", type=float, required=True, help="Float operations a second.")
@click.option("--bandwidth", type=float, required=True, help="Bytes a second of memory.")
@click.option("--prompt", type=click.IntRange(1), default=512, show_default=True, help="Tokens.")
@click.option(
    "--context", type=click.IntRange(1), default=1024, show_default=True, help="When decoding."
)
@click.option("--bits", type=float, default=4, show_default=True, help="Of a weight.")
@click.option(
    "--group", type=click.IntRange(1), help="Weights that share a factor (default: a row)."
)
@click.option(
    "--all-logits", is_flag=True, help="Of every token of the prompt, not the last alone."
)
@click.option("--unfused", is_flag=True, help="Attention by products that write their scores.")
@session_options
def command(
    model: str,
    matrix: float,
    vector: float,
    bandwidth: float,
    prompt: int,
    context: int,
    bits: float,
    group: int | None,
    all_logits: bool,
    unfused: bool,
) -> None:
    """Print what a MODEL computes and moves, and how fast it can be at most.

    MODEL is a name (qwen-1.8b) or a config.json of a decoder with gated feed-forward layers. Each part
    takes at least its operations at the peak of its unit, and its bytes at memory's bandwidth; G is
    10^9 everywhere.
    """
    from dataclasses import replace

    from dslc.compiler.cost.roofline import Peaks, decode, prefill

    if min(matrix, vector, bandwidth) <= 0:
        raise click.UsageError("peaks and bandwidth are above 0")
    decoder = replace(_decoder(model), weight_bits=bits, group=group)
    peaks = Peaks(matrix, vector, bandwidth)
    first = prefill(decoder, prompt, logits=prompt if all_logits else 1, fused=not unfused)
    _show(f"prefill of {prompt} tokens", first, peaks, prompt)
    click.echo()
    _show(f"decode at {context} tokens", decode(decoder, context, fused=not unfused), peaks, 1)


def _show(title: str, parts: tuple[Part, ...], peaks: Peaks, tokens: int) -> None:
    from dslc.cli.tables.table import print_table
    from dslc.compiler.cost.roofline import seconds

    rows = [
        (
            p.name,
            f"{p.operations / 1e9:.2f}",
            f"{p.activations / 1e9:.4f}",
            f"{p.weights / 1e9:.4f}",
            f"{p.intensity:.1f}",
            f"{1e3 * p.seconds(peaks):.3f}",
            p.limit(peaks),
        )
        for p in parts
    ]
    header = ("part", "Gop", "GB activations", "GB weights", "op/byte", "ms", "limited by")
    print_table(header, rows, right=(1, 2, 3, 4, 5))
    least = seconds(parts, peaks)
    click.echo(f"{title}: at least {1e3 * least:.2f} ms, at most {tokens / least:.2f} tokens/s")


def _decoder(model: str) -> Decoder:
    from dslc.compiler.cost.roofline import MODELS, Decoder

    if model in MODELS:
        return MODELS[model]
    path = Path(model)
    if not path.is_file():
        raise click.UsageError(f"{model} is no file and no model; models are {', '.join(MODELS)}")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        fields = {f: int(config[k]) for k, f in _KEYS.items() if k in config}
    except (ValueError, TypeError, OverflowError, RecursionError) as problem:
        raise click.UsageError(f"{model} is no model's configuration: {problem}") from None
    fields.setdefault("kv_heads", fields.get("heads", 0))
    missing = [k for k, f in _KEYS.items() if f not in fields or fields[f] <= 0]
    if missing:
        raise click.UsageError(f"{model} does not say {', '.join(missing)}")
    return Decoder(**fields)
