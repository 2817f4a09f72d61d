"""`dslc inspect` of kernels for Trainium: runs without numbers know the integers that loops go by."""

from __future__ import annotations

from pathlib import Path

import dslc
import pytest
from dslc.cli.main import run
from dslc.cli.tables.nki import greatest_number, run_of
from dslc.runtime.nki_simulator import Run

EXAMPLES = Path(__file__).parents[2] / "examples"
SIZES = {"B": 1, "HQ": 2, "HK": 1, "D": 64, "S": 16, "L": 512}
# The bound of one loop is computed from floats, of another from lengths, and a place from ids.
COUNTED = """
kernel counted(x: f32[L, 32], lens: i32[S], ids: i32[S], y: out f32[S, 32]):
    for s in parallel(range(S)):
        n = lens[s]
        acc = x[ids[s] % L, :]
        for i in range((n + 7) // 8):
            acc += sum(x[i * 8 : i * 8 + 8, :], 0)
        for i in range(cast(max(abs(acc), 0), i32)):
            acc += x[i, :]
        y[s, :] = acc
"""


def attention(**more: int) -> Run:
    sizes = {**SIZES, **more}
    kernel = dslc.compile(EXAMPLES / "attention.tile", target="nki:trn2", cache=False).attention
    return run_of(kernel.specialize_for(sizes, {"BS": 16, "BL": 64}), sizes)


def test_a_loop_goes_as_far_as_a_number_says() -> None:
    short, long = attention(past=0), attention(past=400)
    assert long.trace.counts["nc_matmul"] > short.trace.counts["nc_matmul"]
    assert long.trace.hbm_read > 5 * short.trace.hbm_read


def test_without_one_it_goes_as_far_as_assertions_allow() -> None:
    kernel = dslc.compile(EXAMPLES / "attention.tile", target="nki:trn2", cache=False).attention
    made = kernel.specialize_for(SIZES, {"BS": 16, "BL": 64})
    assert greatest_number(made, SIZES) == 512 - 16
    assert run_of(made, SIZES).trace.hbm_read == attention(past=512 - 16).trace.hbm_read


def test_what_floats_decide_is_left_out() -> None:
    kernel = dslc.compile(COUNTED, target="nki:trn2", cache=False).counted
    sizes = {"L": 100, "S": 3}
    made = kernel.specialize_for(sizes)
    none, one, twelve = (run_of(made, {**sizes, "lens": n}).trace.hbm_read for n in (0, 8, 96))
    assert twelve - none == 12 * (one - none) > 0


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    options = [f"--dim={name}={size}" for name, size in {**SIZES, "past": 100}.items()]
    command = ["inspect", str(EXAMPLES / "attention.tile"), "-k", "attention", "-t", "nki:trn2"]
    assert run([*command, *options, "--no-cache"]) == 0
    assert "modelled:" in capsys.readouterr().out


@pytest.mark.deep
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.tile")), ids=lambda p: p.stem)
def test_every_example(path: Path) -> None:
    library = dslc.compile(path, target="nki:trn2", cache=False)
    for name in library:
        kernel = library[name]
        small = {"B": 1, "HQ": 2, "HK": 1, "H": 128}
        sizes = {dim: small.get(dim, 256) for dim in kernel.dims}
        made = kernel.specialize_for(sizes)
        assert run_of(made, {**sizes, **made.fixed}).microseconds > 0
