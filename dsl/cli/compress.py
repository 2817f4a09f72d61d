"""`dslc compress`: a model's large weights as products of two factors of whole blocks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from dslc.cli.pages import Documented
from dslc.cli.session import current, session_options

if TYPE_CHECKING:
    from dslc.compress import Layer

_EXAMPLES = """
dslc compress model.safetensors --ratio 0.2
dslc compress model.safetensors --ratio 0.2 --block 128 --calibration x.npy -o small.safetensors
dslc compress model.safetensors --ratio 0.3 --calibration inputs.npz --layers 'mlp.*weight$'
"""


@click.command("compress", cls=Documented, examples=_EXAMPLES)
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--ratio",
    type=click.FloatRange(0, 1, max_open=True),
    required=True,
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
@click.option("--in-first", is_flag=True, help="Weights are stored [in, out], not [out, in].")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Default: the model's name with -compressed.",
)
@session_options
def command(
    model: Path,
    ratio: float,
    block: int,
    alpha: float,
    calibration: Path | None,
    layers: str | None,
    in_first: bool,
    output: Path | None,
) -> None:
    """Write a model whose weights W [k, n] are factors U [k, r] and V [r, n], with x U V about x W.

    The rank r saves about the ratio and fills whole blocks. With a calibration the error over its
    inputs is the smallest that the rank allows. NAME.weight becomes NAME.u and NAME.v.
    """
    import json

    from dslc.cli.progress import shown_progress
    from dslc.compress import Plan, compress_model
    from dslc.runtime.safetensors import read_safetensors
    from dslc.runtime.safetensors_writing import write_safetensors

    chosen = {"layers": layers} if layers is not None else {}
    plan = Plan(ratio, block, alpha, in_first=in_first, **chosen)
    tensors = read_safetensors(model)
    inputs = _calibration(calibration) if calibration is not None else None
    with shown_progress("compressing") as progress:
        made, found = compress_model(tensors, plan, inputs, progress)
    target = output or model.with_name(f"{model.stem}-compressed.safetensors")
    record = json.dumps(
        {"ratio": ratio, "block": block, "alpha": alpha, "calibrated": inputs is not None}
    )
    write_safetensors(target, made, {**tensors.metadata, "dslc.compress": record})
    _report(found, sum(t.nbytes for t in tensors.values()), sum(t.nbytes for t in made.values()))
    current().say(f"wrote {target}")


def _calibration(path: Path) -> Any:
    """An array, or arrays by name."""
    import numpy as np
    from dslc.compiler.diagnostics import error

    try:
        found = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as problem:
        raise error("DSL0798", f"{path} is no file of arrays: {problem}") from None
    return found if isinstance(found, np.ndarray) else {name: found[name] for name in found.files}


def _report(layers: list[Layer], before: int, after: int) -> None:
    from dslc.cli.tables import print_table, size_text

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
