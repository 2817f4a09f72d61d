"""`dslc import`: a checkpoint to packed weights and a package of the kernels that they need."""

from __future__ import annotations

import time
from pathlib import Path

import click
from dslc.cli.options import length_option, quantize_option, targets_option
from dslc.cli.pages import Documented
from dslc.cli.session import current, session_options
from dslc.cli.tokens import sequences_of
from dslc.environment import default_target

_EXAMPLES = """
dslc import Llama-3.2-1B -o llama --quantize u4:128
dslc import Llama-3.2-1B -o llama --quantize u4:128 --calibrate prose.txt
dslc import Llama-3.2-1B -o small --compress 0.2 --quantize u4:128 --calibrate prose.txt
dslc import Qwen3-0.6B-GPTQ -t cpu -t cuda:sm_90a --dtype f16 -o qwen
dslc generate llama -p "The tide comes in"
"""


@click.command("import", cls=Documented, examples=_EXAMPLES)
@click.argument("model", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder to write, or to go on with.",
)
@targets_option("A machine that it is for (dslc targets).")
@click.option(
    "--dtype",
    type=click.Choice(["f32", "f16", "bf16"]),
    default="f32",
    show_default=True,
    help="Of activations, caches, and weights that are no codes.",
)
@quantize_option
@click.option(
    "--compress",
    metavar="SHARE",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    help="Make products of two factors of feed-forward weights, which save such a share (0.2).",
)
@click.option(
    "--calibrate",
    "calibration",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Round, and choose factors, by what this text (or .npy of tokens) brings to products.",
)
@click.option(
    "--calibration-tokens",
    type=click.IntRange(1),
    default=16384,
    show_default=True,
    help="Tokens of it at most.",
)
@length_option
@click.option(
    "--batch",
    "batch",
    metavar="N",
    type=click.IntRange(1, 256),
    default=1,
    help="Add the kernels for so many sequences at once (default: one).",
)
@click.option(
    "-j", "--jobs", type=click.IntRange(0), help="Processes that compile (0: in this one)."
)
@session_options
def command(
    model: Path,
    output: Path,
    targets: tuple[str, ...],
    dtype: str,
    quantize: str,
    compress: float,
    calibration: Path | None,
    calibration_tokens: int,
    length: int | None,
    batch: int,
    jobs: int | None,
) -> None:
    """Write a folder that dslc generate runs at once: nothing is packed or compiled then.

    MODEL is a folder of Hugging Face's form or a .gguf file. None of the targets needs to be here.
    Files appear when they are whole; the same command goes on where one was stopped.
    """
    from dslc.cli.progress import shown_progress
    from dslc.models.importing import Settings, import_model

    if calibration is not None and not (quantize or compress):
        raise click.UsageError("--calibrate says how weights change: say --quantize or --compress")
    begin = time.monotonic()
    sequences = None
    if calibration is not None:
        sequences = sequences_of(calibration, model, calibration_tokens)
    machines = targets or (default_target(),)
    settings = Settings(machines, dtype, length or 0, quantize, compress, batch)
    with shown_progress(f"importing {model}") as advance:
        report = None if advance is None else lambda what, done, total: advance(done, total)
        manifest = import_model(
            model, output, settings, calibration=sequences, jobs=jobs, report=report
        )
    size = sum(manifest.files.values())
    current().say(
        f"{output}: {size / 1e6:.1f} MB of weights in {len(manifest.files)} files, kernels for "
        f"{', '.join(manifest.targets)}, in {time.monotonic() - begin:.1f} s"
    )
