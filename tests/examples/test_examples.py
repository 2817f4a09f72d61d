"""Every kernel of examples/, through both front-ends, against its reference.

Shapes that the tiles divide, ragged ones, tiny ones, one row, no row; each element type; parallel
turns in a random order. The tolerances are derived in near.py.
"""

from __future__ import annotations

import functools
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import dslc
import inputs
import near
import numpy as np
import pytest
import references

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
FILES = sorted(path.stem for path in EXAMPLES.glob("*.tile"))


@functools.cache
def library(file: str, define: tuple[tuple[str, Any], ...] = ()) -> Any:
    return dslc.compile(EXAMPLES / f"{file}.tile", target="interp", define=dict(define))


def decorated(file: str) -> ModuleType:
    return importlib.import_module(file)


HALVES = ({"T": "f16"}, {"T": "bf16"})
FLOATS = (*HALVES, {"T": "f32"})
WEIGHTS = [
    *(f"u{bits}" for bits in range(1, 9)),
    *(f"i{bits}" for bits in range(2, 9)),
    *(
        f"f{bits}e{exponent}m{bits - 1 - exponent}"
        for bits in range(3, 9)
        for exponent in range(1, bits)
    ),
]


def sizes(names: str, *rows: tuple[int, ...]) -> list[dict[str, int]]:
    """Dims of several calls: `sizes("M N", (1, 2), (3, 4))`."""
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


# For each kernel: its file, definitions, tuning choices, dims of several calls. The first dims are
# divisible by the tiles, the others ragged, tiny, of one row, of none.
Calls = tuple[str, tuple[dict[str, str], ...], dict[str, int], list[dict[str, int]]]
PLAIN: tuple[dict[str, str], ...] = ({},)
SMALL_TILES = {"BM": 16, "BN": 64, "BK": 32}
TABLE: dict[str, Calls] = {
    "vector_add": ("vector_add", PLAIN, {"BN": 256}, sizes("N", (512,), (1000,), (1,), (0,))),
    "softmax": (
        "softmax", FLOATS, {"BN": 256},
        sizes("M N", (8, 512), (5, 700), (3, 1), (1, 1000), (0, 10)),
    ),
    "rmsnorm": ("rmsnorm", FLOATS, {}, sizes("M H", (8, 64), (5, 100), (1, 1), (0, 32))),
    "layernorm": ("layernorm", FLOATS, {}, sizes("M H", (8, 64), (5, 100), (1, 2), (0, 32))),
    "rope": ("rope", FLOATS, {}, sizes("S Q D", (32, 128, 64), (21, 96, 32), (1, 6, 2), (0, 8, 4))),
    "rope_interleaved": (
        "rope", FLOATS, {}, sizes("S Q D", (32, 128, 64), (21, 96, 32), (1, 6, 2), (0, 8, 4)),
    ),
    "swiglu": (
        "swiglu", FLOATS, {"BF": 128}, sizes("M F", (8, 256), (5, 300), (1, 1), (0, 16)),
    ),
    "gemm": (
        "gemm", FLOATS, SMALL_TILES,
        sizes("M N K", (32, 128, 64), (21, 130, 75), (1, 1, 1), (1, 100, 40), (0, 8, 8), (3, 4, 0)),
    ),
    "gemm_i8": (
        "gemm", PLAIN, {"BM": 16, "BN": 64, "BK": 64},
        sizes("M N K", (32, 128, 128), (21, 130, 75), (1, 1, 1), (0, 8, 8)),
    ),
    "gemm_residual": (
        "mlp", FLOATS, SMALL_TILES, sizes("M N K", (32, 128, 64), (21, 130, 75), (1, 1, 1)),
    ),
    "gemm_quantized": (
        "gemm_quantized", ({"T": "f16"}, {"G": "64"}, {"G": "32", "T": "bf16"}),
        {"BN": 64, "BK": 32},
        sizes("M N K", (16, 64, 256), (21, 100, 128), (1, 1, 128)),
    ),
    "gemm_quantized_zeros": (
        "gemm_quantized", ({"G": "32"}, {"G": "16"}, {"G": "32", "T": "bf16", "W": "u3"}), {"BN": 64},
        sizes("M N K", (16, 64, 128), (21, 100, 160), (1, 1, 32)),
    ),
    "splitk_bias": (
        "splitk_bias", FLOATS, {}, sizes("M N K", (16, 64, 512), (21, 70, 333), (1, 1, 1), (2, 3, 0)),
    ),
    "attention": (
        "attention", FLOATS, {"BS": 16, "BL": 32},
        sizes(
            "B S L HQ HK D",
            (2, 32, 64, 4, 2, 32), (2, 21, 50, 6, 2, 16), (3, 1, 45, 4, 1, 64), (1, 5, 5, 2, 2, 3),
        ),
    ),
    "lowrank": (
        "lowrank", FLOATS, SMALL_TILES,
        sizes("M K R N", (32, 64, 16, 128), (21, 75, 10, 100), (1, 1, 1, 1)),
    ),
    "lowrank_mlp": (
        "lowrank_mlp", FLOATS, {"BM": 16, "BF": 64, "BH": 32},
        sizes("M H F P Q R", (16, 64, 128, 16, 16, 16), (21, 70, 100, 9, 5, 12), (1, 1, 1, 1, 1, 1)),
    ),
    "quantize_rows": (
        "w4a8", FLOATS, {"BK": 256}, sizes("M K", (8, 512), (5, 300), (1, 1), (0, 16)),
    ),
    "gemm_w4a8_channel": (
        "w4a8", HALVES, {"BN": 64, "BK": 64}, sizes("M N K", (16, 128, 128), (21, 70, 75), (1, 1, 1)),
    ),
    "gemm_w4a8_group": (
        "w4a8", (*HALVES, {"G": "32"}), {"BN": 64, "BK": 32},
        sizes("M N K", (16, 64, 256), (21, 70, 128), (1, 1, 128)),
    ),
    "w4a8_channel": ("w4a8", HALVES, {}, sizes("M N K", (16, 128, 128), (21, 70, 75), (1, 1, 1))),
    "w4a8_group": ("w4a8", HALVES, {}, sizes("M N K", (16, 128, 256), (21, 70, 128))),
    "tilus_plain": (
        "tilus_plain", PLAIN, {}, sizes("M N K", (16, 8, 16), (48, 24, 64), (0, 8, 16)),
    ),
    "tilus_rearrange": ("tilus_rearrange", PLAIN, {}, sizes("K N", (16, 8), (64, 40))),
    "tilus_rearrange_words": ("tilus_rearrange", PLAIN, {}, sizes("K N", (256, 32), (512, 96))),
    "tilus_pipelined": (
        "tilus_pipelined", PLAIN, {}, sizes("M N K", (16, 32, 256), (32, 64, 1024), (16, 32, 512)),
    ),
    "attention_input": (
        "attention_input", FLOATS, {},
        sizes("S H Q KV D", (64, 128, 128, 64, 32), (21, 100, 64, 32, 16), (1, 8, 4, 2, 2)),
    ),
    "mlp": ("mlp", FLOATS, {}, sizes("S H F", (64, 128, 128), (21, 100, 150), (1, 1, 1))),
}  # fmt: skip

CASES = [
    pytest.param(kernel, define, index, id="-".join([kernel, *define.values(), str(index)]))
    for kernel, (_, defines, _, calls) in TABLE.items()
    for define in defines
    for index in range(len(calls))
]


def problem(kernel: str, dims: dict[str, int], define: dict[str, str], seed: int) -> Any:
    """Arguments and expected outputs for the element types of a definition."""
    dtype = define.get("T", "f32" if kernel == "softmax" else "f16")
    weight = define.get("W", "u4")
    group = int(define.get("G", "32" if kernel == "gemm_quantized_zeros" else "128"))
    rng = np.random.default_rng(seed)
    return references.PROBLEMS[kernel](rng, {"G": group, **dims}, dtype=dtype, weight=weight)


def check(kernel: Any, posed: Any, config: dict[str, int]) -> None:
    """Run, and hold every output against its bound."""
    kernel(*posed.args.values(), **config)
    for name, expected in posed.expected.items():
        got = posed.args[name].astype(np.float64)
        assert got.shape == expected.value.shape
        assert np.isfinite(got).all(), f"{name} has elements that were not written"
        excess = np.abs(got - expected.value) - expected.error
        assert excess.max(initial=0) <= 0, f"{name} is {excess.max():.3g} beyond its bound"


@pytest.mark.parametrize(("kernel", "define", "index"), CASES)
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

    found = {
        item.name
        for path in EXAMPLES.glob("*.tile")
        for item in parse_tile(path.read_text(), str(path)).items
        if isinstance(item, tree.Kernel | tree.Program)
    }
    assert found == set(TABLE) == set(references.PROBLEMS)


def test_every_example_is_in_both_languages_and_in_the_table() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} >= set(FILES)
    readme = (EXAMPLES / "README.md").read_text()
    assert {file for file in FILES if f"[{file}]({file}.tile)" in readme} == set(FILES)
