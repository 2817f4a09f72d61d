"""`dslc simulate`: a kernel in NKI that somebody has written, on the simulator of a NeuronCore."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, current, session_options

if TYPE_CHECKING:
    import numpy as np
    from dslc.runtime.nki_simulator import Run

_EXAMPLES = """
dslc simulate add.py --entry add -i a="bf16[256, 512]" -i b="bf16[256, 512]"
dslc simulate library/core/rope.py --entry rope -i x=x.npy -i cos=tables.npz:cos -t nki:trn3
dslc simulate add.py --entry add -i a=a.npy -i b=b.npy --grid 2 --timeline run.svg
"""
_SHAPED = re.compile(r"(\w+)\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]")


@click.command("simulate", cls=Documented, examples=_EXAMPLES)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--entry", metavar="NAME", required=True, help="The function under nki.jit.")
@click.option(
    "-i",
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter: file.npy, file.npz:KEY, random as DTYPE[SIZES], or a literal. Repeatable.",
)
@click.option(
    "--random",
    "seed",
    type=int,
    default=0,
    show_default=True,
    metavar="SEED",
    help="The seed of random tensors.",
)
@click.option(
    "-t",
    "--target",
    type=click.Choice(["nki:trn1", "nki:trn2", "nki:trn3"]),
    default="nki:trn2",
    show_default=True,
    help="The core.",
)
@click.option(
    "--grid",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    metavar="N",
    help="Programs of the kernel, each on a core of its own.",
)
@click.option(
    "--output",
    "output",
    metavar="FILE.npz",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write what the kernel returns: out0, out1, ...",
)
@click.option(
    "--timeline",
    metavar="FILE.svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw when each engine works.",
)
@session_options
def command(
    file: Path,
    entry: str,
    inputs: tuple[str, ...],
    seed: int,
    target: str,
    grid: int,
    output: Path | None,
    timeline: Path | None,
) -> int:
    """Run a kernel of FILE, written in NKI, under every rule of the machine.

    Files that it imports are looked for beside it and in the folders above. What the machine forbids is
    an error at its line; times are modelled. Parameters that have defaults may be left out.
    """
    from dslc.cli.tables.nki import run_lines
    from dslc.runtime.nki_simulator import simulate_file

    given = _values(inputs, seed)
    run = simulate_file(file.resolve(), entry, given, target, grid)
    _print_outputs(run)
    for label, text in run_lines(run):
        current().say(f"{label + ':':<13} {text}")
    if output is not None:
        import numpy as np

        named: dict[str, Any] = {f"out{i}": array for i, array in enumerate(run.outputs)}
        np.savez(output, **named)
        current().say(f"wrote {output}")
    if timeline is not None:
        from dslc.runtime.nki_simulator.picture import timeline_svg

        timeline.write_text(timeline_svg(run, entry), encoding="utf-8")
        current().say(f"wrote {timeline}")
    return ExitCode.OK


def _values(inputs: tuple[str, ...], seed: int) -> dict[str, Any]:
    """The arguments by name; DSL0911 for what is neither a file, a shape nor a literal."""
    import numpy as np
    from dslc.cli.inputs import parse_pairs, read_inputs

    rng = np.random.default_rng(seed)
    values: dict[str, Any] = {}
    for name, text in parse_pairs(inputs, "--input", "DSL0911").items():
        shaped = _SHAPED.fullmatch(text.strip())
        if shaped is not None:
            values[name] = _random(name, shaped[1], tuple(map(int, shaped[2].split(","))), rng)
            continue
        try:
            values[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            values |= read_inputs((f"{name}={text}",))
    return values


def _random(
    name: str, dtype: str, shape: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray[Any, Any]:
    from dslc.calls.random_inputs import random_array
    from dslc.compiler.diagnostics import error
    from dslc.compiler.dtypes import parse_dtype, to_ml_dtypes

    kind = parse_dtype(dtype)
    if kind is None or kind.bits not in (8, 16, 32):
        raise error(
            "DSL0911",
            f"--input {name}={dtype}{list(shape)}: there is no {dtype} on a NeuronCore",
            hint="f32, f16, bf16, f8e4m3, f8e5m2, i32, u32, i16, u16, i8, u8",
        )
    array = random_array(kind, shape, rng)
    narrow = to_ml_dtypes(kind) if kind.is_float else None
    return array if narrow is None or array.dtype == narrow else array.view(narrow)


def _print_outputs(run: Run) -> None:
    import numpy as np
    from dslc.cli.tables.table import print_table

    rows = []
    for number, array in enumerate(run.outputs):
        values = array.astype(np.float64)
        finite = values[np.isfinite(values)]
        row = [f"out{number}", array.dtype.name, "x".join(map(str, array.shape))]
        row += [f"{f(finite):.6g}" if finite.size else "-" for f in (np.min, np.max, np.mean)]
        rows.append([*row, str(np.isnan(values).sum()), str(np.isinf(values).sum())])
    header = ("output", "dtype", "shape", "min", "max", "mean", "NaN", "inf")
    print_table(header, rows, right=range(3, 8))
