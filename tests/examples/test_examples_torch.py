"""Every kernel and program of examples/ against torch on a GPU, at the sizes of real layers.

Tensors of torch go in and out without a copy. The reference is torch's own function in float64; a
kernel may differ by its roundings to the element type.
"""

from __future__ import annotations

from typing import Any

import dslc
import pytest
from inputs import Dims
from layer_sizes import SIZES

from calls import EXAMPLES, TABLE

gpu = pytest.mark.gpu

UNIT = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24}
CASES = [
    pytest.param(kernel, dtype, dims, id=f"{kernel}-{dtype}-{'x'.join(map(str, dims.values()))}")
    for kernel, (types, calls) in SIZES.items()
    for dtype in types
    for dims in calls
]
# Rearranging kernels have no function in torch; they are tested with the product that they serve.
UNTYPED = ("vector_add", "gemv_quantized")  # files without `const T`
TILUS = {"tilus_plain": "tilus_rearrange", "tilus_pipelined": "tilus_rearrange_words"}


@pytest.fixture(scope="module")
def torch() -> Any:
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("needs torch with CUDA")
    module.manual_seed(0)
    return module


def define(kernel: str, dtype: str) -> dict[str, str]:
    return {} if kernel == "gemm_i8" or TABLE[kernel][0] in UNTYPED else {"T": dtype}


def hold(torch: Any, got: Any, expected: Any, allowed: float) -> None:
    """The norm of the difference is within `allowed` of the norm; no element is far off."""
    got = got.double()
    assert got.shape == expected.shape
    assert torch.isfinite(got).all(), "elements were not written"
    off = (got - expected).abs()
    assert off.norm() <= allowed * expected.norm(), f"{float(off.norm() / expected.norm()):.2e}"
    size = expected.abs() + expected.square().mean().sqrt()
    assert (off <= 4 * allowed * size).all(), f"off by {float((off / size).max()):.2e} at worst"


def test_every_kernel_of_the_examples_is_here() -> None:
    assert set(SIZES) | set(TILUS) | set(TILUS.values()) == set(TABLE)


@gpu
@pytest.mark.parametrize(("kernel", "dtype", "dims"), CASES)
def test_kernel(torch: Any, kernel: str, dtype: str, dims: Dims) -> None:
    import torch_layers
    import torch_problems

    posed = {**torch_problems.PROBLEMS, **torch_layers.PROBLEMS}[kernel](dims, dtype)
    file = TABLE[kernel][0]
    library = dslc.compile(EXAMPLES / f"{file}.tile", target="cuda", define=define(kernel, dtype))
    args = dict(posed.args)
    for name in posed.codes:
        packed = library[kernel].pack(name, args[name].cpu().numpy(), **dims)
        args[name] = torch.from_numpy(packed).cuda()
    library[kernel](*args.values())
    for name, expected in posed.expected.items():
        if name in posed.exact:
            assert torch.equal(args[name].double(), expected), name
        else:
            unit = UNIT["f32"] * 16 if dtype == "f32" else UNIT[dtype]
            hold(torch, args[name], expected, posed.roundings * unit)


@gpu
@pytest.mark.parametrize("kernel", TILUS)
def test_tilus(torch: Any, kernel: str) -> None:
    """Codes packed in rows, rearranged on the GPU, multiplied on the GPU."""
    m, n, k = 64, 1024, 2048
    file = TABLE[kernel][0]
    product = dslc.compile(EXAMPLES / f"{file}.tile", target="cuda")[kernel]
    arrange = dslc.compile(EXAMPLES / "tilus_rearrange.tile", target="cuda")[TILUS[kernel]]
    codes = torch.randint(-32, 32, (k, n), dtype=torch.int8)
    rows, columns, bits, dtype = (16, 8, 8, torch.uint8)
    if kernel == "tilus_pipelined":
        rows, columns, bits, dtype = (256, 32, 32, torch.uint32)
    shape = (k // rows, n // columns, rows * columns * 6 // bits)
    tiles = torch.zeros(shape, dtype=dtype, device="cuda")
    packed = torch.from_numpy(arrange.pack("b", codes.numpy())).cuda()
    arrange(packed, tiles, K=k, N=n)
    a = torch.randn(m, k, device="cuda").half()
    c = torch.full((m, n), torch.nan, dtype=torch.float16, device="cuda")
    product(a, tiles, c)
    hold(torch, c, a.double() @ codes.cuda().double(), UNIT["f16"])
