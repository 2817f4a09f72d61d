"""`dslc run`: inputs to outputs, verification, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dslc.cli import verification
from dslc.cli.main import run
from dslc.compiler.dtypes import F16, F32, I32

SOURCE = '''
kernel scale(x: f32[M, N], factor: f32, y: out f32[M, N]):
    """y = x * factor."""
    tune B = 16 | 64
    for m, n in parallel(range(0, M, B), range(0, N, B)):
        y[m : m + B, n : n + B] = x[m : m + B, n : n + B] * factor


kernel dequantize(w: u4[K, N], s: f16[K // 32, N], y: out f16[K, N]):
    require K % 32 == 0
    for k, n in parallel(range(0, K, 32), range(0, N, 32)):
        y[k : k + 32, n : n + 32] = cast(w[k : k + 32, n : n + 32], f16) * s[k // 32, n : n + 32]


kernel rows(x: f32[M, H], y: out f32[M]):
    for m in parallel(range(0, M, 4)):
        y[m : m + 4] = sum(x[m : m + 4, 0:H], 1)


kernel racy(x: f32[N], y: out f32[8]):
    for n in parallel(range(0, N, 8)):
        y[0:8] = x[n : n + 8]


kernel bump(x: inout i32[N]):
    for n in parallel(range(0, N, 8)):
        x[n : n + 8] = x[n : n + 8] + 1
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "k.tile").write_text(SOURCE)
    return tmp_path


def test_given_inputs_give_the_output(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.arange(60, dtype=np.float32).reshape(6, 10)
    np.save("x.npy", x)
    asked = ["run", "k.tile", "-k", "scale", "--input", "x=x.npy", "--input", "factor=2.5"]
    assert run([*asked, "--output", "y=y.npy", "--set", "B=64"]) == 0
    assert np.array_equal(np.load("y.npy"), x * np.float32(2.5))
    out = capsys.readouterr().out
    assert "6x10" in out
    assert "147.5" in out  # the greatest


def test_random_inputs_follow_the_seed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def table(seed: str) -> str:
        asked = ["run", "k.tile", "-k", "dequantize", "--dim", "K=64", "--dim", "N=40"]
        assert run([*asked, "--random", seed]) == 0
        return capsys.readouterr().out.splitlines()[1]

    assert table("1") == table("1")
    assert table("1") != table("2")


def test_a_dim_that_must_be_known_comes_from_the_sizes(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save("x.npy", np.ones((5, 12), np.float32))
    asked = ["run", "k.tile", "-k", "rows", "--input", "x=x.npy", "--output", "y=y.npy"]
    assert run(asked) == 0
    assert np.array_equal(np.load("y.npy"), np.full(5, 12, np.float32))
    assert run(["run", "k.tile", "-k", "rows", "--dim", "M=5", "--dim", "H=12"]) == 0


def test_verify_compares_the_stages(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["run", "k.tile", "-k", "dequantize", "--dim", "K=32", "--dim", "N=5"]
    assert run([*asked, "--verify"]) == 0
    out = capsys.readouterr().out
    assert "after passes, shuffled" in out
    assert "verify: dequantize ok" in out


def test_verify_names_the_pass_that_changes_a_number(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    true_interpret = verification.interpret
    broken: list[str] = []

    def interpret(made, stage, fed, shuffle):  # the last pass "breaks" the program
        stages = [s for s in made.stages if s not in ("tile", "ir", "final")]
        broken[:] = stages[-1:]
        outputs = true_interpret(made, stage, fed, shuffle)
        if stage in ("final", stages[-1]):
            return {name: array + 1 for name, array in outputs.items()}
        return outputs

    monkeypatch.setattr(verification, "interpret", interpret)
    asked = ["run", "k.tile", "-k", "dequantize", "--dim", "K=32", "--dim", "N=5", "--verify"]
    assert run(asked) == 4
    captured = capsys.readouterr()
    assert "DIFFERENT" in captured.out
    assert f"FAILED: the numbers change at the pass {broken[0]}" in captured.err


def test_what_a_kernel_writes_is_its_own_each_time(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save("x.npy", np.zeros(9, np.int32))
    asked = ["run", "k.tile", "-k", "bump", "--input", "x=x.npy", "--output", "x=after.npy"]
    assert run([*asked, "--repeat", "3", "--verify"]) == 0
    assert np.array_equal(np.load("after.npy"), np.ones(9, np.int32))
    assert "median of 3" in capsys.readouterr().out


def test_a_race_is_a_failed_check(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "k.tile", "-k", "racy", "--dim", "N=32"]) == 4
    captured = capsys.readouterr()
    assert "DSL06" in captured.err
    assert "k.tile:22" in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ([], 2, "DSL0912"),
        (["-k", "scal"], 2, "did you mean"),
        (["-k", "scale", "--dim", "M=4", "--dim", "N=4"], 2, "DSL0915"),
        (["-k", "scale", "--dim", "M=4", "--input", "factor=1"], 2, "DSL0913"),
        (
            [
                "-k",
                "scale",
                "--dim",
                "M=9999999999",
                "--dim",
                "N=9999999999",
                "--input",
                "factor=1",
            ],
            2,
            "does not fit in this machine",
        ),
        (["-k", "scale", "--dim", "Q=4", "--input", "factor=1"], 2, "no dim Q"),
        (["-k", "rows", "--dim", "M=4"], 1, "DSL0230"),
        (["-k", "rows", "--input", "z=x.npy"], 2, "DSL0911"),
        (["-k", "bump", "--input", "x=3"], 2, "comes from a file"),
        (["-k", "bump", "--dim", "N=-8"], 2, "not negative"),
        (["-k", "bump", "--dim", "N=99999999999999"], 2, "does not fit in this machine"),
        (["-k", "bump", "--dim", "N=8", "--output", "y=y.npy"], 2, "no output y"),
        (["-k", "bump", "--dim", "N=8", "--output", "x=x.txt"], 2, ".npy"),
        (["-k", "bump", "--dim", "N=8", "--set", "B=8"], 2, "B"),
        (["-k", "bump", "--dim", "N=8", "-t", "cuda:sm90"], 2, "DSL0901"),
        (["-k", "dequantize", "--dim", "K=33", "--dim", "N=4"], 2, "K % 32 == 0"),
    ],
)
def test_refusals(
    asked: list[str], code: int, words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", "k.tile", *asked]) == code
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err


def test_an_input_of_the_wrong_shape(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("w.npy", np.zeros((64, 8), np.uint8))
    np.save("s.npy", np.zeros((3, 8), np.float16))
    asked = ["run", "k.tile", "-k", "dequantize", "--input", "w=w.npy", "--input", "s=s.npy"]
    assert run(asked) == 2
    assert "s" in capsys.readouterr().err


def test_comparison_allows_what_sums_may_lose_and_no_more() -> None:
    dtypes = {"f": F32, "h": F16, "i": I32}
    one = {"f": np.float32([1, 2]), "h": np.float16([1, np.nan]), "i": np.int32([3])}
    near = {"f": np.float32([1, 2 + 1e-6]), "h": np.float16([1.001, np.nan]), "i": np.int32([3])}
    far = {"f": np.float32([1, 2.1]), "h": np.float16([1, 1]), "i": np.int32([4])}

    def verdicts(other: dict[str, np.ndarray]) -> list[str]:
        return [c.verdict for c in verification.compare(one, other, dtypes)]

    assert verdicts(one) == ["equal"] * 3
    assert verdicts(near) == ["close", "close", "equal"]
    assert verdicts(far) == ["DIFFERENT"] * 3


def test_infinities_compare() -> None:
    one = {"f": np.float32([np.inf, 1])}
    assert [c.verdict for c in verification.compare(one, one, {"f": F32})] == ["equal"]
    other = {"f": np.float32([-np.inf, 1])}
    assert [c.verdict for c in verification.compare(one, other, {"f": F32})] == ["DIFFERENT"]


def test_the_first_nan_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "logs.tile"
    file.write_text(
        "kernel logs(x: f32[N], y: out f32[N]):\n"
        "    for n in parallel(range(0, N, 8)):\n"
        "        w = log(x[n : n + 8] - 100.0)\n"
        "        y[n : n + 8] = w\n"
    )
    words = ["run", str(file), "--dim", "N=8"]
    assert run(words) == 0
    capsys.readouterr()
    assert run([*words, "--trap-nan"]) == 4
    shown = capsys.readouterr().err
    assert "error[DSL0614]: y[0] becomes NaN in turn n=0: log(-" in shown
    assert "3 |         w = log(x[n : n + 8] - 100.0)" in shown
    assert "it is stored here" in shown
