"""What bounds a kernel, and what the project asks of it: bytes, operations, ceilings, bars.

The ceilings are those of one NVIDIA H200: a read-only stream of 4.53 TB/s, measured; 989 TFLOP/s of
dense f16, from the data sheet. The bars of a section are `Verdict`s of ours against a rival.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu.cases import GROUP, ROWS, SHAPES, WEIGHTS, Case

READ_TB_S = 4.53
PEAK_TFLOP_S = 989.0
ERROR_LIMIT = 2e-2
# Two correct kernels round differently: errors this close count as the same.
ERROR_SLACK = 1.05

DECODE_ROWS, PREFILL_ROWS = 16, 4096
# Of the floor's speed, with few rows and the widest of the shapes, by bits of a weight.
WIDE, OF_FLOOR = (8192, 57344), {2: 0.75, **dict.fromkeys(range(3, 9), 0.88)}
U4_US = {(8192, 8192): 11.0}  # of u4 with one row
DENSE_SPEED, SMALL_SPEED = 0.97, 0.92  # of cuBLAS's, of 16-bit operands and of f8e4m3
ATTENTION_SPEED = 0.97  # of cuDNN's, with a causal mask
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
        size = 1 if case.dtype.startswith("f8") else 2
        return size * (k * n + m * k) + 2 * m * n
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
        return case.name in WEIGHTS and case.dims["M"] in ROWS and _shape(case) in SHAPES
    if case.section == "dense":
        cube = set(case.dims.values()) == {8192}
        return case.dtype.startswith("f8") or cube or _shape(case) in SHAPES
    return case.section != "attention" or case.name == "causal"


def _shape(case: Case) -> tuple[int, int]:
    return case.dims["K"], case.dims["N"]


def quantized_verdict(
    case: Case, ours: float, humming: float | None, cublas: float | None = None
) -> Verdict:
    """Few rows: faster than humming and tilus, near the floor. More: faster than both that are there.

    With the most rows, where the chip's power decides, "no slower" leaves some noise.
    """
    rows = case.dims["M"]
    if not has_bar(case):
        return Verdict(None)
    if rows <= DECODE_ROWS:
        return _decode_verdict(case, ours, humming)
    rivals = [us for us in (humming, cublas) if us is not None]
    if not rivals:
        return Verdict(None)
    noise = NOISE if rows >= PREFILL_ROWS else 1.0
    return Verdict(ours <= min(rivals) * noise, "slower than humming or cuBLAS")


def _decode_verdict(case: Case, ours: float, humming: float | None) -> Verdict:
    shape = _shape(case)
    tilus = tilus_us(case)
    if tilus is not None and ours >= tilus:
        return Verdict(False, "slower than tilus")
    most = U4_US.get(shape, ours) if (case.name, case.dims["M"]) == ("u4", 1) else ours
    if ours > most:
        return Verdict(False, f"over {most:g} us")
    share = OF_FLOOR.get(bits_of(case.name), 0.0) if shape == WIDE else 0.0
    if floor_us(case) / ours < share:
        return Verdict(False, f"under {share:.0%} of the floor")
    if humming is None:
        return Verdict(None)
    return Verdict(ours < humming, "slower than humming")


def dense_verdict(case: Case, ours: float, rival: float | None) -> Verdict:
    if not has_bar(case) or rival is None:
        return Verdict(None)
    speed = SMALL_SPEED if case.dtype.startswith("f8") else DENSE_SPEED
    return Verdict(rival / ours >= speed, f"under {speed:.0%} of cuBLAS")


def attention_verdict(case: Case, ours: float | None, rival: float | None) -> Verdict:
    if not has_bar(case) or ours is None or rival is None:
        return Verdict(None)
    return Verdict(rival / ours >= ATTENTION_SPEED, f"under {ATTENTION_SPEED:.0%} of cuDNN")


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
