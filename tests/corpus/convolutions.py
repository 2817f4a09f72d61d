"""Images: arguments and meaning."""

from __future__ import annotations

import numpy as np

from corpus.cases import Array, Family, Generator, Trial, bfloat16, f64, normal

case = Family("convolutions")


def windows(x: Array, size: int, axes: tuple[int, int]) -> Array:
    """All size x size windows of the image with zeros around it, as two last axes."""
    pad = [(size // 2, size // 2) if i in axes else (0, 0) for i in range(x.ndim)]
    return np.lib.stride_tricks.sliding_window_view(np.pad(f64(x), pad), (size, size), axes)


@case()
def conv2d_implicit_gemm(rng: Generator) -> Trial:
    x, w = normal(rng, 2, 4, 19, 32, dtype=np.float16), normal(rng, 3, 3, 32, 40, dtype=np.float16)
    y = np.einsum("bhwcij,ijco->bhwo", windows(x, 3, (1, 2)), f64(w))
    return Trial({"x": x, "w": w}, {"y": y})


@case(near=1e-4)
def conv2d_strided_nchw(rng: Generator) -> Trial:
    x, w, bias = normal(rng, 1, 3, 9, 21), normal(rng, 11, 3, 3, 3), normal(rng, 11)
    y = np.einsum("bchwij,ocij->bohw", windows(x, 3, (2, 3))[:, :, ::2, ::2], f64(w))
    return Trial({"x": x, "w": w, "bias": bias}, {"y": np.maximum(y + bias[:, None, None], 0)})


@case(near=1e-4)
def depthwise_conv2d(rng: Generator) -> Trial:
    x, w = normal(rng, 1, 3, 11, 19), normal(rng, 5, 5, 19)
    return Trial({"x": x, "w": w}, {"y": np.einsum("bhwcij,ijc->bhwc", windows(x, 5, (1, 2)), w)})


@case()
def average_pool(rng: Generator) -> Trial:
    x = normal(rng, 3, 7, 41)
    return Trial({"x": x}, {"y": f64(x)[:, :6, :40].reshape(3, 3, 2, 20, 2).mean((2, 4))})


@case()
def max_pool_indices(rng: Generator) -> Trial:
    x = rng.integers(0, 9, (3, 6, 37)).astype(np.float32)
    blocks = x[:, :, :36].reshape(3, 3, 2, 18, 2).transpose(0, 1, 3, 2, 4).reshape(3, 3, 18, 4)
    i = blocks.argmax(3)
    rows, columns = 2 * np.arange(3)[:, None] + i // 2, 2 * np.arange(18) + i % 2
    return Trial({"x": x}, {"y": blocks.max(3), "at": rows * 37 + columns})


@case(steps=1)
def sobel(rng: Generator) -> Trial:
    x = rng.integers(0, 256, (9, 45), np.uint8)
    taps = np.outer([1, 2, 1], [-1, 0, 1])
    dx, dy = (np.einsum("hwij,ij->hw", windows(x, 3, (0, 1)), t) for t in (taps, taps.T))
    return Trial({"x": x}, {"y": np.minimum(np.floor(np.hypot(dx, dy)), 255)})


@case(near=1e-4)
def grid_sample(rng: Generator) -> Trial:
    image = normal(rng, 3, 7, 9)
    grid = np.stack([rng.uniform(-2, 10, 37), rng.uniform(-2, 8, 37)], 1).astype("f4")
    # The weight of each pixel falls linearly to 0 at its neighbours.
    wx = np.maximum(0, 1 - np.abs(f64(grid)[:, :1] - np.arange(9)))
    wy = np.maximum(0, 1 - np.abs(f64(grid)[:, 1:] - np.arange(7)))
    y = np.einsum("chw,ph,pw->cp", f64(image), wy, wx)
    return Trial({"x": image, "grid": grid}, {"y": y})


@case()
def upsample_nearest(rng: Generator) -> Trial:
    x = normal(rng, 2, 3, 21, dtype=bfloat16)
    return Trial({"x": x}, {"y": f64(x).repeat(2, 1).repeat(2, 2)})


@case(near=1e-4)
def transposed_conv1d(rng: Generator) -> Trial:
    x, w = normal(rng, 5, 21), normal(rng, 5, 11, 4)
    y = np.zeros((11, 44))
    for s in range(21):
        y[:, 2 * s : 2 * s + 4] += np.einsum("c,cot->ot", f64(x[:, s]), f64(w))
    return Trial({"x": x, "w": w}, {"y": y})


@case()
def gray_and_histogram(rng: Generator) -> Trial:
    image = rng.integers(0, 256, (5, 45, 3), np.uint8)
    gray = image.astype(int) @ [77, 150, 29] // 256
    bins = np.bincount(gray.reshape(-1) // 16, minlength=16)
    return Trial({"image": image, "bins": np.zeros(16, np.int32)}, {"gray": gray, "bins": bins})
