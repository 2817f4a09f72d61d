"""Every kernel and program of examples/ against torch on a GPU, at the sizes of real layers.

Tensors of torch go in and out without a copy. The reference is torch's own function in float64; a
kernel may differ by its roundings to the element type.
"""

from __future__ import annotations

from typing import Any

import dslc
import pytest
from calls import EXAMPLES, TABLE, sizes
from inputs import Dims

gpu = pytest.mark.gpu

UNIT = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24}
HALVES = ("f16", "bf16")
# Kernel -> element types, dims: those of decoder layers, one ragged size for most.
SIZES: dict[str, tuple[tuple[str, ...], list[Dims]]] = {
    "vector_add": (("f32",), sizes("N", (1 << 24,), (1_000_003,))),
    "softmax": (("f32", "bf16"), sizes("M N", (4096, 8192), (37, 128_256))),
    "softmax_rows": (("f32", "bf16"), sizes("M N", (4096, 8192), (37, 5000))),
    "rmsnorm": (HALVES, sizes("M H", (4096, 8192), (333, 4096))),
    "layernorm": (HALVES, sizes("M H", (4096, 8192), (333, 4096))),
    "rope": (HALVES, sizes("S Q D", (4096, 8192, 128), (333, 1024, 64))),
    "rope_interleaved": (HALVES, sizes("S Q D", (4096, 8192, 128), (333, 1024, 64))),
    "swiglu": (HALVES, sizes("M F", (2048, 28_672), (333, 14_336))),
    "gemm": (HALVES, sizes("M N K", (2048, 4096, 4096), (1000, 1000, 1000), (1, 8192, 8192))),
    "gemm_i8": (("f16",), sizes("M N K", (2048, 4096, 4096), (1000, 1000, 1000))),
    "gemm_residual": (HALVES, sizes("M N K", (2048, 4096, 4096), (1000, 1000, 1000))),
    "gemm_quantized": (HALVES, sizes("M N K", (16, 8192, 8192), (1, 1000, 4096), (1000, 4096, 4096))),
    "gemm_quantized_zeros": (HALVES, sizes("M N K", (16, 8192, 8192), (1000, 1000, 4096))),
    "gemm_quantized_sums": (HALVES, sizes("M N K", (16, 8192, 8192), (1, 1000, 4096))),
    "gemm_mx": (HALVES, sizes("M N K", (16, 8192, 8192), (1000, 1000, 4096))),
    "gemm_nvfp4": (HALVES, sizes("M N K", (16, 8192, 8192), (1000, 1000, 4096))),
    "splitk_bias": (HALVES, sizes("M N K", (16, 1024, 28_672), (33, 1000, 4100))),
    "attention": (
        HALVES,
        sizes(
            "B S L HQ HK D",
            (2, 2048, 2048, 32, 8, 128),  # prefill
            (2, 300, 2000, 32, 8, 128),  # a chunk after a past
            (8, 1, 4096, 32, 8, 128),  # decode
            (2, 512, 512, 12, 12, 64),
        ),
    ),
    "lowrank": (HALVES, sizes("M K R N", (2048, 4096, 64, 4096), (333, 1000, 32, 1000))),
    "lowrank_mlp": (HALVES, sizes("M H F P Q R", (512, 1024, 4096, 64, 64, 64))),
    "quantize_rows": (HALVES, sizes("M K", (2048, 8192), (333, 5000))),
    "gemm_w4a8_channel": (HALVES, sizes("M N K", (16, 8192, 8192), (1000, 4096, 4096))),
    "gemm_w4a8_group": (HALVES, sizes("M N K", (16, 8192, 8192), (1000, 4096, 4096))),
    "w4a8_channel": (HALVES, sizes("M N K", (16, 8192, 8192), (1000, 4096, 4096))),
    "w4a8_group": (HALVES, sizes("M N K", (16, 8192, 8192), (1000, 4096, 4096))),
    "attention_input": (
        HALVES, sizes("S H Q KV D", (2048, 4096, 4096, 1024, 128), (77, 512, 512, 128, 64)),
    ),
    "mlp": (HALVES, sizes("S H F", (2048, 4096, 14_336), (77, 512, 1376))),
}  # fmt: skip
# At these sizes the default choice takes more shared memory than there is.
CHOICES = {"lowrank_mlp": {"BF": 64, "BH": 32}}
CASES = [
    pytest.param(kernel, dtype, dims, id=f"{kernel}-{dtype}-{'x'.join(map(str, dims.values()))}")
    for kernel, (types, calls) in SIZES.items()
    for dtype in types
    for dims in calls
]
# Rearranging kernels have no function in torch; they are tested with the product that they serve.
TILUS = {"tilus_plain": "tilus_rearrange", "tilus_pipelined": "tilus_rearrange_words"}


@pytest.fixture(scope="module")
def torch() -> Any:
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("needs torch with CUDA")
    module.manual_seed(0)
    return module


def define(kernel: str, dtype: str) -> dict[str, str]:
    return {} if kernel in ("vector_add", "gemm_i8") else {"T": dtype}


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
    import torch_problems

    posed = torch_problems.PROBLEMS[kernel](dims, dtype)
    file = TABLE[kernel][0]
    library = dslc.compile(EXAMPLES / f"{file}.tile", target="cuda", define=define(kernel, dtype))
    args = dict(posed.args)
    for name in posed.codes:
        packed = library[kernel].pack(name, args[name].cpu().numpy(), **dims)
        args[name] = torch.from_numpy(packed).cuda()
    library[kernel](*args.values(), **CHOICES.get(kernel, {}))
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
