"""Options that several commands have: their names and forms are one, a command's help is its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

file_argument = click.argument(
    "file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path)
)
kernel_option = click.option(
    "-k", "--kernel", "name", metavar="NAME", help="The kernel or program of the file."
)
set_option = click.option(
    "--set",
    "choices",
    multiple=True,
    metavar="NAME=VALUE",
    help="A tune choice: --set BM=64. Repeatable.",
)
define_option = click.option(
    "-D",
    "define",
    multiple=True,
    metavar="NAME=VALUE",
    help="Fix a dim or override a const: -D K=4096, -D W=i6. Repeatable.",
)
include_option = click.option(
    "-I",
    "include",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Look for imported .tile files here as well. Repeatable.",
)
cache_option = click.option("--cache/--no-cache", default=True, help="Use the compile cache.")
executor_option = click.option(
    "--executor",
    metavar="NAME",
    help="Who compiles: processes (the default), threads, dask:ADDRESS of a scheduler, ray:ADDRESS.",
)
quantize_option = click.option(
    "--quantize",
    metavar="DTYPE:GROUP",
    default="",
    help="Round float weights of products to codes, such as u4:128.",
)
length_option = click.option(
    "--length", type=click.IntRange(1), help="Positions of the caches (default: up to 4096)."
)


def targets_option(text: str) -> Decorator:
    """`--target`, several times."""
    return click.option(
        "-t", "--target", "targets", multiple=True, metavar="TARGET", help=f"{text} Repeatable."
    )


def dim_option(text: str, metavar: str = "NAME=SIZE") -> Decorator:
    """`--dim`, several times: the sizes of dims that nothing else says."""
    return click.option("--dim", "dims", multiple=True, metavar=metavar, help=f"{text} Repeatable.")


def input_option(text: str) -> Decorator:
    """`--input`, several times: the values of parameters."""
    return click.option(
        "-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help=f"{text} Repeatable."
    )


def seed_option(text: str) -> Decorator:
    """`--random`: the seed of the tensors that are not given."""
    return click.option(
        "--random", "seed", type=int, default=0, show_default=True, metavar="SEED", help=text
    )


def output_option(text: str, metavar: str = "FILE", **rules: Any) -> Decorator:
    """`--output`: the path to write; `rules` are those of click.Path."""
    kind = click.Path(path_type=Path, **rules)
    return click.option("-o", "--output", metavar=metavar, type=kind, help=text)


def timeline_option(text: str) -> Decorator:
    """`--timeline`: a picture of what works when."""
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.option("--timeline", metavar="FILE.svg", type=kind, help=text)


def budget_option(seconds: float) -> Decorator:
    """`--budget` of what slow tools tell of a kernel."""
    return click.option(
        "--budget",
        type=click.FloatRange(0),
        default=seconds,
        show_default=True,
        metavar="SECONDS",
        help="How long llvm-mca and the NPU's simulator may take; 0 is as long as they want.",
    )
