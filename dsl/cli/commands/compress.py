"""`dslc compress`: a model's large weights as products of two factors; what LoRA trained, merged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from dslc.cli.options import output_option
from dslc.cli.pages import Documented
from dslc.cli.session import current, session_options

if TYPE_CHECKING:
    from dslc.compress import Layer, Merged, Plan
    from dslc.runtime.safetensors import SafeTensors

_EXAMPLES = """
dslc compress model.safetensors --ratio 0.2
dslc compress model.safetensors --ratio 0.2 --block 128 --calibration x.npy -o small.safetensors
dslc compress model.safetensors --ratio 0.3 --calibration inputs.npz --layers 'mlp.*weight$'
dslc compress model-compressed.safetensors --lora adapters
"""

_OF_COMPRESSION = ("block", "alpha", "calibration", "layers")
_SAID = ParameterSource.COMMANDLINE
_CONFIG = "adapter_config.json"


@click.command("compress", cls=Documented, examples=_EXAMPLES)
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--ratio",
    type=click.FloatRange(0, 1, max_open=True),
    help="The share of each weight's parameters to save.",
)
@click.option(
    "--block", type=click.IntRange(1), default=128, help="Ranks are multiples of it (default 128)."
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1),
    default=0.5,
    help="How ranks are rounded: 0.5 to the nearest block (the default), 0 down.",
)
@click.option(
    "--calibration",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Inputs of the weights: .npy [rows, k] for all of k inputs, .npz with one by weight.",
)
@click.option(
    "--layers", metavar="REGEX", help="The names of the weights (default: those of MLPs)."
)
@click.option(
    "--lora",
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="Instead of compressing: add these adapters (PEFT's folder or .safetensors) to MODEL.",
)
@click.option(
    "--lora-scale",
    type=float,
    metavar="S",
    help="Add S B A (default: lora_alpha / r of adapter_config.json beside the adapters).",
)
@click.option("--in-first", is_flag=True, help="Weights are stored [in, out], not [out, in].")
@output_option("Default: the model's name with -compressed, or -merged.", dir_okay=False)
@session_options
@click.pass_context
def command(
    context: click.Context,
    model: Path,
    ratio: float | None,
    block: int,
    alpha: float,
    calibration: Path | None,
    layers: str | None,
    lora: Path | None,
    lora_scale: float | None,
    in_first: bool,
    output: Path | None,
) -> None:
    """Write a model whose weights W [k, n] are factors U [k, r] and V [r, n], with x U V about x W.

    The rank r saves about the ratio and fills whole blocks. With a calibration the error over its
    inputs is the smallest that the rank allows. NAME.weight becomes NAME.u and NAME.v.

    With --lora the adapters that were trained on a compressed model become part of its factors (and of
    other weights that they name), so that it computes x U V alone.
    """
    from dslc.compress import Plan
    from dslc.runtime.safetensors import read_safetensors

    if (ratio is None) == (lora is None):
        raise click.UsageError("say --ratio to compress MODEL, or --lora to merge adapters into it")
    if lora is None and lora_scale is not None:
        raise click.UsageError("--lora-scale goes with --lora")
    tensors = read_safetensors(model)
    if lora is not None:
        given = [n for n in _OF_COMPRESSION if context.get_parameter_source(n) is _SAID]
        if given:
            raise click.UsageError(f"--{given[0]} is of compressing: it does not go with --lora")
        target = output or model.with_name(f"{model.stem}-merged.safetensors")
        _merge(tensors, lora, lora_scale, in_first, target)
    else:
        assert ratio is not None
        chosen = {"layers": layers} if layers is not None else {}
        plan = Plan(ratio, block, alpha, in_first=in_first, **chosen)
        target = output or model.with_name(f"{model.stem}-compressed.safetensors")
        _compress(tensors, plan, calibration, target)
    current().say(f"wrote {target}")


def _compress(tensors: SafeTensors, plan: Plan, calibration: Path | None, target: Path) -> None:
    from dslc.cli.progress import shown_progress
    from dslc.compress import compress_model
    from dslc.runtime.safetensors_writing import write_safetensors

    inputs = _calibration(calibration) if calibration is not None else None
    with shown_progress("compressing") as progress:
        compressed, layers = compress_model(tensors, plan, inputs, progress)
    record = {"ratio": plan.ratio, "block": plan.block, "alpha": plan.alpha}
    record["calibrated"] = inputs is not None
    write_safetensors(target, compressed, {**tensors.metadata, "dslc.compress": json.dumps(record)})
    _report(
        layers, sum(t.nbytes for t in tensors.values()), sum(t.nbytes for t in compressed.values())
    )


def _merge(
    tensors: SafeTensors, lora: Path, scale: float | None, in_first: bool, target: Path
) -> None:
    from dslc.cli.progress import shown_progress
    from dslc.compress import merge_adapters, read_adapters
    from dslc.runtime.safetensors import read_safetensors
    from dslc.runtime.safetensors_writing import write_safetensors

    path = lora / "adapter_model.safetensors" if lora.is_dir() else lora
    config = None if scale is not None else _adapter_config(path.with_name(_CONFIG))
    adapters = read_adapters(read_safetensors(path), config, scale)
    with shown_progress("merging") as progress:
        merged, changes = merge_adapters(tensors, adapters, in_first, progress)
    record = json.dumps({m.name: m.rank for m in changes})
    write_safetensors(target, merged, {**tensors.metadata, "dslc.lora": record})
    _report_merged(changes)


def _adapter_config(path: Path) -> dict[str, Any] | None:
    """What PEFT wrote beside the adapters; None where there is nothing."""
    from dslc.compiler.diagnostics import error

    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as problem:
        raise error("DSL0799", f"{path} cannot be read: {problem}") from None
    if not isinstance(config, dict):
        raise error("DSL0799", f"{path} is not a JSON object")
    return config


def _calibration(path: Path) -> Any:
    """An array, or arrays by name."""
    import numpy as np
    from dslc.compiler.diagnostics import error

    try:
        loaded = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as problem:
        raise error("DSL0798", f"{path} is no file of arrays: {problem}") from None
    return (
        loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    )


def _report(layers: list[Layer], before: int, after: int) -> None:
    from dslc.cli.tables.table import print_table, size_text

    rows = [
        (
            layer.name,
            f"{layer.k} x {layer.n}",
            layer.rank or "kept",
            f"{layer.error:.4f}{'' if layer.calibrated or not layer.rank else ' *'}",
            f"{layer.ratio:.3f}",
            size_text(layer.before),
            size_text(layer.after),
        )
        for layer in layers
    ]
    header = ("weight", "k x n", "rank", "error", "saved", "before", "after")
    print_table(header, rows, right=(2, 4, 5, 6))
    if any(layer.rank and not layer.calibrated for layer in layers):
        click.echo("* of the weight itself: no calibration of its inputs")
    saved = f"{1 - after / before:.1%}" if before else "0 %"
    click.echo(f"the whole model: {size_text(before)} to {size_text(after)}, {saved} saved")


def _report_merged(changes: list[Merged]) -> None:
    from dslc.cli.tables.table import print_table

    rows = [
        (merged.name, " x ".join(map(str, merged.shape)), merged.rank, f"{merged.change:.4f}")
        for merged in changes
    ]
    print_table(("tensor", "shape", "rank of LoRA", "change"), rows, right=(2, 3))
