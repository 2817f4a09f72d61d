"""What bounds a kernel, and what the project asks of it: bytes, operations, ceilings, bars.

The ceilings are those of one NVIDIA H200: a read-only stream of 4.53 TB/s, measured; 989 TFLOP/s of
dense f16, from the data sheet. The bars of a section are `Verdict`s of ours against a rival.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu.cases import GROUP, SHAPES, Case

READ_TB_S = 4.53
PEAK_TFLOP_S = 989.0
ERROR_LIMIT = 2e-2
# Two correct kernels round differently: errors this close count as the same.
ERROR_SLACK = 1.05

DECODE_TYPES = ("u4", "u2", "u1", "u8", "f6e3m2", "i4")
DECODE_ROWS = 16
DECODE_SPEED = 0.9  # of humming's speed
DENSE_SPEED = 0.6  # of cuBLAS's, at 8192^3 in f16
COPY_SHARE = 0.85  # of a copy's bytes per second
NOISE = 1.02  # times of one kernel in several processes differ by as much
LAUNCH_US, LAUNCH_SHARE = 5.0, 1 / 3  # and of Triton's time
COMPILE_SECONDS = 0.5

# tilus's own tuned example on the same GPU, microseconds: weights -> (K, N) -> rows -> time.
TILUS = {
    "u4": {
        (8192, 8192): {1: 19.7, 16: 20.7},
        (8192, 10240): {1: 27.5, 16: 28.7},
        (8192, 57344): {1: 78.9, 16: 83.8, 64: 266.9, 256: 774.1, 4096: 10928.0},
        (28672, 8192): {1: 55.9, 16: 57.1, 4096: 5321.0},
    },
    "f6e3m2": {
        (8192, 8192): {1: 47.4, 16: 49.9},
        (8192, 10240): {1: 60.7, 16: 62.6},
        (8192, 57344): {1: 209.3, 16: 210.5, 64: 490.5, 256: 1246.0, 4096: 19317.0},
        (28672, 8192): {1: 141.9, 16: 144.8, 4096: 9737.0},
    },
}


@dataclass(frozen=True)
class Verdict:
    """Whether a bar is met, and which; `met` is None where the project sets none for the case."""

    met: bool | None
    bar: str = ""

    def __str__(self) -> str:
        if self.met is None:
            return "-"
        return "met" if self.met else f"missed: {self.bar}"


def bits_of(weight: str) -> int:
    return int(weight[1])


def product_bytes(case: Case) -> float:
    """Weights, their scales (of a quantised product), A and C, each once."""
    m, n, k = (case.dims[d] for d in "MNK")
    if case.section == "dense":
        return 2 * (k * n + m * k + m * n)
    return k * n * bits_of(case.name) / 8 + 2 * (-(-k // GROUP) * n + m * k + m * n)


def product_operations(case: Case) -> float:
    return 2.0 * case.dims["M"] * case.dims["N"] * case.dims["K"]


def attention_operations(case: Case) -> float:
    """Both products; a causal mask leaves half of them."""
    s, h, d = (case.dims[name] for name in "SHD")
    return 4.0 * s * s * h * d * (0.5 if case.name == "causal" else 1.0)


def floor_us(case: Case) -> float:
    """The least time of a product: its bytes or its operations at the ceiling, whichever is longer."""
    by_bytes = product_bytes(case) / READ_TB_S / 1e6
    return max(by_bytes, product_operations(case) / PEAK_TFLOP_S / 1e6)


def tilus_us(case: Case) -> float | None:
    """tilus's published time of a quantised product, where there is one."""
    shape = (case.dims["K"], case.dims["N"])
    return TILUS.get(case.name, {}).get(shape, {}).get(case.dims["M"])


def error_verdict(weight: str, ours: float, rival: float | None) -> Verdict:
    """The error is within the limit and no worse than the rival's.

    Unsigned codes are other numbers there (about 0), so that their errors say nothing of ours.
    """
    if not ours <= ERROR_LIMIT:  # NaN is no error that could pass
        return Verdict(False, f"error over {ERROR_LIMIT:g}")
    if weight[0] == "u" or rival is None or rival > ERROR_LIMIT:
        return Verdict(True)
    if ours > rival * ERROR_SLACK:
        return Verdict(False, "error worse than the rival's")
    return Verdict(True)


def has_bar(case: Case) -> bool:
    """Whether the project asks something of the case."""
    if case.section == "quantized":
        shape = (case.dims["K"], case.dims["N"])
        return case.name in DECODE_TYPES and case.dims["M"] <= DECODE_ROWS and shape in SHAPES
    if case.section == "dense":
        return case.dtype == "f16" and set(case.dims.values()) == {8192}
    return case.section != "attention"


def quantized_verdict(case: Case, ours: float, rival: float | None) -> Verdict:
    """Decode: at least 90 % of humming's speed, and quicker than tilus's figure."""
    if not has_bar(case):
        return Verdict(None)
    tilus = tilus_us(case)
    if tilus is not None and ours >= tilus:
        return Verdict(False, "slower than tilus")
    if rival is None:
        return Verdict(None)
    return Verdict(rival / ours >= DECODE_SPEED, f"under {DECODE_SPEED:.0%} of humming")


def dense_verdict(case: Case, ours: float, rival: float | None) -> Verdict:
    if not has_bar(case) or rival is None:
        return Verdict(None)
    return Verdict(rival / ours >= DENSE_SPEED, f"under {DENSE_SPEED:.0%} of cuBLAS")


def rows_verdict(ours_tb_s: float, copy_tb_s: float | None, faster: bool | None) -> Verdict:
    """At least 85 % of a copy's bytes per second, and no slower than torch.compile."""
    if copy_tb_s is not None and ours_tb_s < COPY_SHARE * copy_tb_s:
        return Verdict(False, f"under {COPY_SHARE:.0%} of a copy")
    if faster is False:
        return Verdict(False, "slower than torch.compile")
    return Verdict(None if copy_tb_s is None or faster is None else True)


def launch_verdict(ours: float, triton: float) -> Verdict:
    if ours > LAUNCH_US:
        return Verdict(False, f"over {LAUNCH_US:g} us")
    return Verdict(ours <= LAUNCH_SHARE * triton, "over a third of Triton's")


def compile_verdict(seconds: float) -> Verdict:
    return Verdict(seconds < COMPILE_SECONDS, f"{COMPILE_SECONDS:g} s or more")
