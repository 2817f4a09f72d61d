"""Calls that name no choices get those that the cost model predicts to be the fastest."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import dslc
import pytest
from dslc.compiler.cost import Prediction, predict
from dslc.compiler.cost.outline import Outline
from dslc.compiler.ir import Kernel
from dslc.library import Library
from dslc.tuner.predicted import PredictedChoices, rounded_up
from dslc.tuner.ranking import Ranking
from dslc.tuner.space import Configuration
from hypothesis import given
from hypothesis import strategies as st

from support.tuning import DIMS, SOURCE

DENSE = '''
kernel dense(a: f16[M, K], b: f16[K, N], c: out f16[M, N]):
    """c = a @ b."""
    tune BM = 64 | 16 | 128
    tune BN = 128 | 32
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, 64):
            acc += dot(a[m : m + BM, k : k + 64], b[k : k + 64, n : n + BN])
        c[m : m + BM, n : n + BN] = cast(acc, f16)


kernel rows(x: f32[M, N], y: out f32[M, N]):
    tune BM = 1 | 4 | 512
    require M % BM == 0
    for m in parallel(range(0, M, BM)):
        y[m : m + BM, :] = x[m : m + BM, :] * 2.0
'''


@pytest.fixture(autouse=True)
def untuned() -> None:
    """Nothing is replaced here."""


@pytest.fixture
def dense(cache: Path) -> Any:
    return dslc.compile(DENSE, "cuda:sm_90a", cache=cache).dense


def predicted(kernel: Any, config: dict[str, object], sizes: dict[str, int]) -> float:
    """Seconds after all passes."""
    ranking = Ranking(kernel.origin, sizes)
    made = ranking.elaborated(Configuration(tuple(config.items())))
    return predict(ranking.scheduled(made), kernel.origin.machine.target, sizes).seconds


@pytest.mark.parametrize("rows", [16, 4096])
def test_the_choice_is_the_fastest_of_all_products(dense: Any, rows: int) -> None:
    sizes = {"M": rows, "N": 4096, "K": 4096}
    every = [
        dict(zip(dense.tunes, values, strict=True))
        for values in itertools.product(*dense.tunes.values())
    ]
    times = [predicted(dense, config, sizes) for config in every]
    chosen = dense.specialize_for(sizes).config
    assert times[every.index(dict(chosen))] <= 1.06 * min(times)
    assert times[every.index(dict(chosen))] < times[0], "the first choices are for other sizes"


PARTS = """
kernel parts(a: f16[M, K], b: f16[K, N], c: out f16[M, N]):
    tune BN = 128 | 32
    tune SPLIT = 1 | 4 | 16
    for m, n in parallel(range(0, M, 16), range(0, N, BN)):
        acc = zeros(f32, [16, BN])
        for k in range(0, K, 128, split=SPLIT):
            acc += dot(a[m : m + 16, k : k + 128], b[k : k + 128, n : n + BN])
        c[m : m + 16, n : n + BN] = cast(acc, f16)
"""


def test_parts_are_found_though_outlines_do_not_know_them(cache: Path) -> None:
    kernel = dslc.compile(PARTS, "cuda:sm_80", cache=cache).parts
    sizes = {"M": 16, "N": 1024, "K": 8192}
    every = [
        dict(zip(kernel.tunes, values, strict=True))
        for values in itertools.product(*kernel.tunes.values())
    ]
    times = [predicted(kernel, config, sizes) for config in every]
    found = kernel.origin.predicted.find({}, sizes.get)
    assert found is not None
    assert times[every.index(dict(found.config))] <= 1.06 * min(times)
    assert found.config["SPLIT"] != 1


def test_explicit_choices_win(dense: Any) -> None:
    sizes = {"M": 16, "N": 4096, "K": 4096}
    assert dense.specialize_for(sizes, {"BM": 128}).config == {"BM": 128, "BN": 128}


def test_of_equal_predictions_the_kernels_order_decides(
    dense: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {(64, 128): 1.008e-5, (16, 128): 1.0e-5}
    outlines = itertools.count(1000)  # near each other, in the order of the kernel
    monkeypatch.setattr("dslc.tuner.ranking.outline", lambda *_: Outline(next(outlines) * 1e-8))

    def prediction(program: Kernel, *_: object, **__: object) -> Prediction:
        chosen = dict(program.config)
        return Prediction(times.get((chosen["BM"], chosen["BN"]), 1.06e-5))

    monkeypatch.setattr("dslc.tuner.ranking.predict", prediction)
    sizes = {"M": 4096, "N": 4096, "K": 4096}
    assert dense.specialize_for(sizes).config == {"BM": 64, "BN": 128}
    times = {(64, 32): 1.008e-5, (16, 128): 1.0e-5, (16, 32): 1.0e-5}
    assert dense.specialize_for({**sizes, "M": 512}).config == {"BM": 64, "BN": 32}


def test_definitions_win(cache: Path) -> None:
    library = dslc.compile(DENSE, "cuda:sm_90a", define={"BM": 128}, cache=cache)
    for rows in (16, 4096):
        made = library.dense.specialize_for({"M": rows, "N": 4096, "K": 4096})
        assert made.config["BM"] == 128


def test_tuned_choices_win(lib: Library, tuned: Any) -> None:
    from support.tuning import StandIn

    before = dict(lib.gemm.specialize_for(DIMS).config)
    result = tuned(lib.gemm, StandIn(lambda c: 1e-5 if c == before else 1e-6), DIMS, top=2)
    assert result.config != before
    assert lib.gemm.specialize_for(DIMS).config == result.config


def test_sizes_of_one_bucket_share_a_kernel(dense: Any) -> None:
    sizes = {"N": 4096, "K": 4096}
    first = dense.specialize_for({**sizes, "M": 31})
    assert dense.specialize_for({**sizes, "M": 17}).config == first.config
    assert len(dense.origin.predicted._found) == 1


def test_what_was_predicted_once_is_read_from_the_cache(
    dense: Any, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"M": 16, "N": 4096, "K": 4096}
    config = dense.origin.chosen({}, sizes.get)
    monkeypatch.setattr(Ranking, "best", lambda *_: pytest.fail("it is predicted again"))
    again = dslc.compile(DENSE, "cuda:sm_90a", cache=cache).dense
    assert again.origin.chosen({}, sizes.get) == config
    other = dslc.compile(DENSE.replace("128 | 32", "32 | 128"), "cuda:sm_90a", cache=cache).dense
    with pytest.raises(pytest.fail.Exception):
        other.origin.chosen({}, sizes.get)


@pytest.mark.filterwarnings("ignore:cache entry")
def test_a_cache_that_cannot_be_written_changes_nothing(dense: Any, tmp_path: Path) -> None:
    sizes = {"M": 16, "N": 4096, "K": 4096}
    (tmp_path / "file").write_text("")
    for cache in (False, tmp_path / "file"):  # the latter warns that it is no folder
        library = dslc.compile(DENSE, "cuda:sm_90a", cache=cache)
        assert library.dense.origin.chosen({}, sizes.get) == dense.origin.chosen({}, sizes.get)


def test_one_packing_serves_all_sizes(lib: Library) -> None:
    def storage(made: Any) -> Any:
        return made.artifact.signature.params[1].packed

    weights = {"K": 4096, "N": 4096}
    packing = storage(lib.gemm.specialize(**weights))
    assert packing is not None
    for rows in (1, 16, 17, 256, 5000):
        assert storage(lib.gemm.specialize_for({**weights, "M": rows})) == packing
        assert storage(lib.gemm.specialize(**weights, M=rows)) == packing


def test_a_choice_that_the_kernel_refuses_is_not_taken(cache: Path) -> None:
    kernel = dslc.compile(DENSE, "cuda:sm_90a", cache=cache).rows
    for rows, most in ((1001, 1), (1004, 4), (512, 512)):
        config = kernel.specialize_for({"M": rows, "N": 1024}).config
        assert int(config["BM"]) <= most


def test_a_choice_that_the_machine_refuses_is_not_taken(cache: Path) -> None:
    """Of the first choice three stages of 256 KB would have to stand in shared memory."""
    source = DENSE.replace("64 | 16 | 128", "1024 | 16").replace("128 | 32", "128")
    kernel = dslc.compile(source, "cuda:sm_90a", cache=cache).dense
    assert kernel.specialize_for({"M": 4096, "N": 4096, "K": 4096}).config["BM"] == 16


def test_where_nothing_is_predicted_the_first_choices_hold(cache: Path) -> None:
    library = dslc.compile(DENSE, "interp", cache=cache)
    made = library.dense.specialize_for({"M": 16, "N": 64, "K": 64})
    assert made.config == {"BM": 64, "BN": 128}


def test_a_kernel_without_choices_is_not_predicted(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PredictedChoices, "_choose", lambda *_: pytest.fail("it is"))
    source = "kernel k(x: f32[N], y: out f32[N]):\n    y[0:32] = x[0:32]\n"
    dslc.compile(source, "cuda:sm_90a", cache=cache).k.specialize()


@given(size=st.integers(0, 1 << 40), more=st.integers(0, 1 << 20))
def test_rounding_is_up_by_at_most_a_double_in_order_and_done_once(size: int, more: int) -> None:
    rounded = rounded_up(size)
    assert size <= rounded <= max(1, 2 * size)
    assert rounded_up(rounded) == rounded
    assert rounded <= rounded_up(size + more)
    if size > 128:
        assert rounded < 1.25 * size


def test_inspect_says_where_choices_are_from(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from dslc.cli.main import run

    (tmp_path / "k.tile").write_text(SOURCE)
    asked = ["inspect", str(tmp_path / "k.tile"), "-k", "scale", "--dim", "N=4096"]
    assert run([*asked, "-t", "cuda:sm_90a"]) == 0
    assert "choices:      the fastest of 3 by prediction, " in capsys.readouterr().out
    assert run([*asked, "-t", "cuda:sm_90a", "--set", "BN=512"]) == 0
    assert "choices:      as given" in capsys.readouterr().out
    assert run(asked) == 0
    assert "choices:      the first of each" in capsys.readouterr().out
