"""Every kernel of examples/, through both front-ends, against its reference.

Shapes that the tiles divide, ragged ones, tiny ones, one row, no row; each element type; parallel
turns in a random order. The tolerances are derived in near.py.
"""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any

import dslc
import inputs
import near
import numpy as np
import pytest
import references

from calls import EXAMPLES, FILES, MX_ELEMENTS, TABLE, WEIGHTS, hold, problem


@functools.cache
def library(file: str, define: tuple[tuple[str, Any], ...] = ()) -> Any:
    return dslc.compile(EXAMPLES / f"{file}.tile", target="interp", define=dict(define))


def decorated(file: str) -> ModuleType:
    return importlib.import_module(file)


CASES = [
    pytest.param(kernel, define, index, id="-".join([kernel, *define.values(), str(index)]))
    for kernel, (_, defines, _, calls) in TABLE.items()
    for define in defines
    for index in range(len(calls))
]


def check(kernel: Any, posed: inputs.Problem, config: dict[str, int]) -> None:
    """Run, and hold every output against its bound."""
    kernel(*posed.args.values(), **config)
    hold(posed)


@pytest.mark.parametrize(("kernel", "define", "index"), CASES)
@pytest.mark.sampled(2)
def test_kernel(kernel: str, define: dict[str, str], index: int) -> None:
    file, _, config, calls = TABLE[kernel]
    found = library(file, tuple(define.items()))[kernel]
    check(found, problem(kernel, calls[index], define, seed=index), config)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("kernel", TABLE)
def test_any_order_of_turns(kernel: str, seed: int) -> None:
    file, _, config, calls = TABLE[kernel]
    with dslc.options(shuffle=seed):
        check(library(file)[kernel], problem(kernel, calls[1], {}, seed), config)


@pytest.mark.parametrize("kernel", TABLE)
def test_decorated(kernel: str) -> None:
    file, _, config, calls = TABLE[kernel]
    check(getattr(decorated(file), kernel), problem(kernel, calls[1], {}, seed=3), config)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("kernel", ["gemm_quantized", "gemm_quantized_zeros"])
def test_every_weight_type(kernel: str, weight: str) -> None:
    """bf16 holds the values of every type."""
    define = {"T": "bf16", "W": weight, "G": "32"}
    dims = {"M": 3, "N": 40, "K": 96}
    found = library("gemm_quantized", tuple(define.items()))[kernel]
    check(found, problem(kernel, dims, define, seed=4), {"BN": 64, "BK": 32})


@pytest.mark.parametrize("weight", MX_ELEMENTS)
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_every_mx_element(weight: str, dtype: str) -> None:
    define = {"T": dtype, "W": weight}
    found = library("gemm_mx", tuple(define.items()))["gemm_mx"]
    dims = {"M": 3, "N": 40, "K": 96}
    check(found, problem("gemm_mx", dims, define, seed=8), {"BN": 64, "BK": 32})


def within_f16(weight: str) -> bool:
    """Whether f16 holds every finite value of a type: 2^16 and more it does not."""
    _, values = inputs.values_of(weight)
    return bool(np.abs(values[np.isfinite(values)]).max() < 65520)


@pytest.mark.parametrize("weight", [w for w in WEIGHTS if within_f16(w)])
def test_every_weight_type_that_f16_holds(weight: str) -> None:
    define = {"T": "f16", "W": weight, "G": "32"}
    dims = {"M": 3, "N": 40, "K": 96}
    found = library("gemm_quantized", tuple(define.items()))["gemm_quantized"]
    check(found, problem("gemm_quantized", dims, define, seed=5), {"BN": 64, "BK": 32})


def test_slices_hold_every_f16() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    x = every[np.isfinite(every)][None]
    d, bad = np.empty((1, 8, x.size), np.int8), np.empty((1, x.size // 128), np.float32)
    library("gemv_quantized")["slice_rows"](x, d, bad)
    assert (np.abs(d) <= 64).all()
    assert not bad.any()
    assert (np.tensordot(2.0 ** (7 * np.arange(8) - 24), d, (0, 1)) == x).all()


@pytest.mark.parametrize("weight", ["u8", "f6e3m2", "f8e4m3"])
def test_slices_meet_integers_of_eight_bits_alone(weight: str) -> None:
    posed = problem("gemv_quantized", {"M": 1, "N": 64, "K": 128}, {}, seed=9)
    with pytest.raises(dslc.DiagnosticError, match="DSL0217"):
        library("gemv_quantized", (("W", weight),))["gemv_quantized"](*posed.args.values())


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_row_that_is_not_finite_has_no_product(value: float) -> None:
    """Whatever the weights are: 0 is no infinity either."""
    x, w, s = np.ones((2, 256), np.float16), np.zeros((256, 40), np.uint8), np.ones((2, 40))
    x[1, 200] = value
    c = np.empty((2, 40), np.float16)
    library("gemv_quantized")["gemv_quantized"](x, w, s.astype(np.float16), c)
    assert not c[0].any()
    assert np.isnan(c[1]).all()


def test_rearranged_weights_feed_the_products() -> None:
    """The chain as a user runs it: codes, rearrangement, product."""
    rng = np.random.default_rng(6)
    for rearrange, product, k, n, storage in (
        ("tilus_rearrange", "tilus_plain", 64, 24, np.empty((4, 3, 96), np.uint8)),
        ("tilus_rearrange_words", "tilus_pipelined", 1024, 64, np.empty((4, 2, 1536), np.uint32)),
    ):
        codes, _ = inputs.codes(rng, (k, n), "i6")
        a = inputs.normal(rng, (32, k), "f16")
        c = inputs.blank((32, n), "f16")
        library("tilus_rearrange")[rearrange](codes, storage)
        library(product)[product](a, storage, c)
        expected = (near.exact(a) @ near.exact(codes)).rounded("f16")
        assert (np.abs(c - expected.value) <= expected.error).all()


@pytest.mark.parametrize("file", FILES)
def test_both_front_ends_give_one_tree(file: str) -> None:
    from dslc.frontend import tree
    from dslc.frontend.tile_parser import parse_tile

    path = EXAMPLES / f"{file}.tile"
    items = parse_tile(path.read_text(), str(path)).items
    named = {i.name: i for i in items if isinstance(i, tree.Kernel | tree.Program | tree.Function)}
    consts = {i for i in items if isinstance(i, tree.Const)}
    module = decorated(file)
    compared = 0
    for name, node in named.items():
        if isinstance(node, tree.Function):
            continue
        for item in getattr(module, name).__dslc_tree__().items:
            if isinstance(item, tree.Const):
                assert item in consts
            elif not isinstance(item, tree.Import) and item.name in named:
                assert item == named[item.name]
                compared += item.name == name
    assert compared == sum(not isinstance(i, tree.Function) for i in named.values())


@pytest.mark.parametrize("file", FILES)
def test_main_compares_with_numpy(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    decorated(file).main()
    lines = capsys.readouterr().out.splitlines()
    assert lines
    for line in lines:
        error = float(line.split("error ")[1].split(",")[0])
        assert error < 0.05, line


def test_every_kernel_is_tested() -> None:
    from dslc.frontend import tree
    from dslc.frontend.tile_parser import parse_tile

    items = [i for p in EXAMPLES.glob("*.tile") for i in parse_tile(p.read_text(), str(p)).items]
    found = {i.name for i in items if isinstance(i, tree.Kernel | tree.Program)}
    # What an example takes from the library is its own.
    library = [i for i in items if isinstance(i, tree.Import) and i.path.startswith("std.")]
    found |= {name for item in library for name in item.names}
    assert found == set(TABLE) == set(references.PROBLEMS)


def test_every_example_is_in_both_languages_and_in_the_table() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} >= set(FILES)
    readme = (EXAMPLES / "README.md").read_text()
    assert {file for file in FILES if f"[{file}]({file}.tile)" in readme} == set(FILES)
