"""`dslc new`: a kernel to begin with, its test, and the specification of its package."""

from __future__ import annotations

from pathlib import Path

import click
from dslc.cli.pages import Documented
from dslc.cli.session import current, session_options

_EXAMPLES = """
dslc new scaled_rows
dslc new scaled_rows --in kernels
"""
_KERNEL = '''"""What NAME computes, in a sentence."""

const T = f16

kernel NAME(x: T[M, N], g: T[N], y: out T[M, N]):
    """y = x * g, row by row: write yours here."""
    tune BM = 16 | 1 | 64
    tune BN = 256 | 64

    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        a = cast(x[m : m + BM, n : n + BN], f32)
        y[m : m + BM, n : n + BN] = cast(a * cast(g[n : n + BN], f32), T)
'''
_TEST = '''"""NAME beside NumPy, on the machine that is here; DSLC_TARGET names another."""

from pathlib import Path

import dslc
import numpy as np
import pytest

SOURCE = Path(__file__).with_name("NAME.tile")


# Sizes that no tile divides, and one row.
@pytest.mark.parametrize(("m", "n"), [(5, 300), (1, 64), (70, 1)])
@pytest.mark.parametrize("block", [16, 1, 64])
def test_it_means_what_numpy_says(m, n, block):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, n)).astype(np.float16)
    g = rng.standard_normal(n).astype(np.float16)
    y = np.empty_like(x)
    dslc.compile(SOURCE).NAME(x, g, y, BM=block)
    wanted = x.astype(np.float64) * g
    np.testing.assert_allclose(y, wanted, rtol=2e-3, atol=2e-3)
'''
_PACKAGE = """# dslc package NAME.toml --wheel dist
[package]
name = "NAME"
version = "0.1.0"
targets = ["cpu:x86-64"]  # and "cuda:sm_90a", "hip:gfx942", ...: `dslc targets` lists them

[[kernel]]
source = "NAME.tile"
kernel = "NAME"
sizes = { M = [1, 4096], N = 4096 }  # what choices are made for; every size runs
"""


@click.command("new", cls=Documented, examples=_EXAMPLES)
@click.argument("name", metavar="NAME")
@click.option(
    "--in",
    "parent",
    metavar="DIR",
    default=".",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the folder NAME is made (default: here).",
)
@session_options
def command(name: str, parent: Path) -> None:
    """Write a folder NAME with a kernel, its test and a package's specification.

    The test compares the kernel with NumPy; both run at once.
    """
    from dslc.compiler.diagnostics import error
    from dslc.frontend.tokens import KEYWORDS

    if not name.isidentifier() or name in KEYWORDS:
        hint = "letters, digits and _, such as scaled_rows"
        raise error("DSL0923", f"`{name}` cannot be the name of a kernel", hint=hint)
    folder = parent / name
    files = {f"{name}.tile": _KERNEL, f"test_{name}.py": _TEST, f"{name}.toml": _PACKAGE}
    for file in files:
        if (folder / file).exists():
            raise error("DSL0923", f"there is a file {folder / file}", hint="choose another name")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (folder / file).write_text(text.replace("NAME", name), encoding="utf-8")
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise error("DSL0923", f"{folder} cannot be written: {reason}") from None
    current().note(f"wrote {', '.join(str(folder / file) for file in files)}")
    current().note(
        f"next: python -m pytest {folder}; dslc run {folder / name}.tile --dim M=5 --dim N=300"
    )
