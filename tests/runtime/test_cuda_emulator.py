"""The emulator of CUDA C: what it computes, and what it refuses to let pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from dslc.runtime.cuda_emulator import EmulationError, compiler, emulate
from dslc.runtime.cuda_emulator.translating import (
    Parameter,
    assembly,
    entries,
    meets_other_blocks,
    mnemonics,
    translate,
)

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")
SHARED = "extern __shared__ __align__(128) unsigned char shared[];"


def kernel(params: str, body: str) -> str:
    return f'extern "C" __global__ void __launch_bounds__(128)\nk(\n    {params}) {{\n{body}\n}}\n'


def run(params: str, body: str, args: Sequence[Any], threads: int = 64, **more: Any) -> str:
    return emulate(kernel(params, body), "k", args, more.pop("grid", 1), threads, **more)


def refused(params: str, body: str, args: Sequence[Any], **more: Any) -> str:
    with pytest.raises(EmulationError) as raised:
        run(params, body, args, **more)
    return str(raised.value)


def ints(count: int) -> np.ndarray:
    return np.full(count, -1, np.int32)


# What runs


def test_threads_and_blocks_know_who_they_are() -> None:
    y = ints(12)
    body = "y[blockIdx.x * blockDim.x + threadIdx.x] = 100 * blockIdx.x + threadIdx.x + gridDim.x;"
    run("int* y", body, [y], threads=4, grid=3)
    assert y.tolist() == [3 + 100 * b + t for b in range(3) for t in range(4)]


def test_scalars_come_by_value_in_their_types() -> None:
    y = np.zeros(3, np.float64)
    body = "if (threadIdx.x == 0) { y[0] = a; y[1] = b; y[2] = c; }"
    run("double* y, float a, long long b, bool c", body, [y, 0.5, -(1 << 40), True])
    assert y.tolist() == [0.5, float(-(1 << 40)), 1.0]


def test_a_barrier_orders_writes_and_reads() -> None:
    y = ints(64)
    body = f"{SHARED} int* s = (int*)shared; const int t = threadIdx.x;\n"
    body += "s[t] = t; __syncthreads(); y[t] = s[63 - t];"
    for seed in range(5):
        run("int* y", body, [y], shared_bytes=256, seed=seed)
        assert y.tolist() == list(range(63, -1, -1))


def test_without_the_barrier_the_numbers_are_wrong() -> None:
    y = ints(64)
    body = f"{SHARED} int* s = (int*)shared; const int t = threadIdx.x; s[t] = t; y[t] = s[63 - t];"
    run("int* y", body, [y], shared_bytes=256)
    assert -1 in y.tolist()  # shared memory starts as ones


def test_shuffles_and_votes() -> None:
    y = ints(5 * 32)
    body = """const int t = threadIdx.x; int v = t * t;
      y[t] = __shfl_xor_sync(0xffffffffu, v, 5);
      y[32 + t] = __shfl_up_sync(0xffffffffu, v, 3);
      y[64 + t] = __shfl_down_sync(0xffffffffu, v, 3, 8);
      y[96 + t] = __shfl_sync(0xffffffffu, v, 2, 16);
      y[128 + t] = __ballot_sync(0xffffffffu, t % 3 == 0);"""
    run("int* y", body, [y], threads=32)
    t = np.arange(32)
    wanted = [
        (t ^ 5) ** 2, np.where(t >= 3, t - 3, t) ** 2, np.where(t % 8 < 5, t + 3, t) ** 2,
        (t // 16 * 16 + 2) ** 2, np.full(32, sum(1 << i for i in range(0, 32, 3))),
    ]  # fmt: skip
    np.testing.assert_array_equal(y.view(np.uint32).reshape(5, 32), np.stack(wanted))


def test_blocks_count_each_other() -> None:
    n, y = np.zeros(1, np.int32), ints(300)
    body = "if (threadIdx.x == 0) y[blockIdx.x] = atomicAdd(n, 1);"
    run("int* n, int* y", body, [n, y], threads=32, grid=300)
    assert n[0] == 300
    assert sorted(y.tolist()) == list(range(300))
    assert y.tolist() != list(range(300))  # the order is drawn


def test_blocks_wait_for_each_other() -> None:
    turn, y = np.zeros(1, np.int32), np.zeros(1, np.int32)
    body = """if (threadIdx.x == 0) {
        while (*(volatile int*)(turn + 0) != (int)blockIdx.x) {}
        __threadfence();
        *y = (3 * *y + (int)blockIdx.x) % 1000;
        __threadfence();
        *(volatile int*)(turn) = (int)blockIdx.x + 1;
      }"""
    run("int* turn, int* y", body, [turn, y], threads=32, grid=40)
    expected = 0
    for i in range(40):
        expected = (3 * expected + i) % 1000
    assert y[0] == expected


def test_what_is_printed_comes_back() -> None:
    body = 'if (threadIdx.x == 3) printf("%g %d\\n", 0.5, 7);'
    assert run("int* y", body, [ints(1)]) == "0.5 7\n"


def test_no_blocks_no_run() -> None:
    assert emulate("no kernel at all", "k", [], 0, 32) == ""


COPY = f"""{SHARED} float* s = (float*)shared; const int t = threadIdx.x;
  unsigned at = (unsigned)__cvta_generic_to_shared(s + t * 4);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
    :: "r"(at), "l"(x + t * 4), "r"(t < 10 ? 16 : 0) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  WAIT
  __syncthreads();
  for (int i = t; i < 128; i += 32) y[i] = s[i];"""


def test_copies_have_landed_after_their_wait() -> None:
    x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    wait = 'asm volatile("cp.async.wait_group %0;" :: "n"(0) : "memory");'
    run("const float* x, float* y", COPY.replace("WAIT", wait), [x, y], 32, shared_bytes=512)
    np.testing.assert_array_equal(y, np.where(x < 40, x, 0))


@pytest.mark.parametrize("wait", ["", 'asm volatile("cp.async.wait_group 1;" ::: "memory");'])
def test_copies_may_not_have_landed_before_it(wait: str) -> None:
    x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    run("const float* x, float* y", COPY.replace("WAIT", wait), [x, y], 32, shared_bytes=512)
    assert np.isnan(y).any()


def test_matrices_of_a_warp_come_from_rows_of_shared_memory() -> None:
    x, y = np.arange(256, dtype=np.uint16), np.zeros((2, 4, 32), np.uint32)
    body = f"""{SHARED} const int t = threadIdx.x; unsigned short* s = (unsigned short*)shared;
      for (int i = t; i < 256; i += 32) s[i] = x[i];
      __syncthreads();
      unsigned at = (unsigned)__cvta_generic_to_shared(s + 8 * t), w[4];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%0, %1, %2, %3}}, [%4];"
        : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(at) : "memory");
      for (int i = 0; i < 4; ++i) y[32 * i + t] = w[i];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{%0, %1, %2, %3}}, [%4];"
        : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(at) : "memory");
      for (int i = 0; i < 4; ++i) y[128 + 32 * i + t] = w[i];"""
    run("const unsigned short* x, unsigned* y", body, [x, y], 32, shared_bytes=512)
    m = x.reshape(4, 8, 8)
    np.testing.assert_array_equal(y[0].view(np.uint16).reshape(4, 8, 8), m)
    np.testing.assert_array_equal(y[1].view(np.uint16).reshape(4, 8, 8), m.transpose(0, 2, 1))


def test_matrices_of_a_warp_go_to_rows_of_shared_memory() -> None:
    """Stored as they were loaded, plain and transposed, each from the lanes that hold it."""
    x, y = np.arange(256, dtype=np.uint16), np.zeros((2, 256), np.uint16)
    body = f"""{SHARED} const int t = threadIdx.x; unsigned short* s = (unsigned short*)shared;
      unsigned w[4], at = (unsigned)__cvta_generic_to_shared(s + 8 * t);
      for (int i = 0; i < 4; ++i) w[i] = ((const unsigned*)x)[32 * i + t];
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {{%1, %2, %3, %4}};"
        :: "r"(at), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
      __syncthreads();
      for (int i = t; i < 256; i += 32) y[i] = s[i];
      __syncthreads();
      asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {{%1, %2, %3, %4}};"
        :: "r"(at), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
      __syncthreads();
      for (int i = t; i < 256; i += 32) y[256 + i] = s[i];"""
    run("const unsigned short* x, unsigned short* y", body, [x, y], 32, shared_bytes=512)
    m = x.reshape(4, 8, 8)
    np.testing.assert_array_equal(y[0].reshape(4, 8, 8), m)
    np.testing.assert_array_equal(y[1].reshape(4, 8, 8), m.transpose(0, 2, 1))


# What is refused


def test_an_access_past_the_end() -> None:
    report = refused("const float* x, float* y", "y[threadIdx.x] = x[threadIdx.x + 1];",
                     [np.zeros(64, np.float32), np.zeros(64, np.float32)])  # fmt: skip
    assert "past the end of x (256 bytes)" in report
    assert "thread 63" in report
    assert "y[threadIdx.x] = x[threadIdx.x + 1];" in report


def test_an_access_before_the_start() -> None:
    report = refused("float* y", "y[-5000 + (int)threadIdx.x] = 1;", [np.zeros(4, np.float32)])
    assert "before y" in report


def test_a_write_just_behind_an_odd_end() -> None:
    report = refused("unsigned char* y", "y[3] = 1;", [np.zeros(3, np.uint8)])
    assert "just beyond the 3 bytes of y" in report


def test_a_write_to_an_input() -> None:
    report = refused("const float* x", "*(float*)x = 1;", [np.zeros(4, np.float32)])
    assert "a write to x, which is constant" in report


def test_any_access_to_an_empty_buffer() -> None:
    assert "past the end of y" in refused("float* y", "y[0] = 1;", [np.zeros(0, np.float32)])


def test_an_access_past_shared_memory() -> None:
    body = f"{SHARED} ((int*)shared)[threadIdx.x + 1] = 0;"
    assert "shared memory" in refused("int* y", body, [ints(1)], shared_bytes=256)
    assert "shared memory" in refused("int* y", body, [ints(1)], shared_bytes=244)


def test_a_misaligned_vector() -> None:
    body = "const uint4 v = *(const uint4*)(x + threadIdx.x); y[0] = v.x;"
    report = refused("const int* x, int* y", body, [ints(128), ints(1)])
    assert "not a multiple of 16" in report


def test_an_index_outside_registers() -> None:
    body = "float r[4] = {}; int i = threadIdx.x; r[i % 5] = 1; y[0] = r[(i + 1) % 4];"
    assert "outside an array in line" in refused("float* y", body, [np.zeros(4, np.float32)])


def test_a_barrier_that_some_never_reach() -> None:
    report = refused("int* y", "if (threadIdx.x < 32) __syncthreads();", [ints(1)])
    assert "wait for ever: from thread 0 on: a barrier of line 4" in report
    assert "from thread 32 on: its end" in report


def test_threads_at_different_barriers() -> None:
    body = "if (threadIdx.x < 32)\n__syncthreads();\nelse\n__syncthreads();"
    assert "a divergent barrier" in refused("int* y", body, [ints(1)])


def test_lanes_that_miss_a_shuffle() -> None:
    body = "int v = threadIdx.x;\nif (v % 2) v = __shfl_xor_sync(0xffffffffu, v, 1);\ny[0] = v;"
    assert "a shuffle of line 5" in refused("int* y", body, [ints(1)], threads=32)


def test_a_wait_for_a_value_that_nobody_writes() -> None:
    body = "while (*(volatile int*)(y) != 7) {}"
    assert "spins in line" in refused("int* y", body, [ints(1)], threads=32, grid=3)


def test_a_trap() -> None:
    report = refused("int* y", 'if (threadIdx.x == 9) { printf("no\\n"); __trap(); }', [ints(1)])
    assert "trapped" in report
    assert report.endswith("no\n")


def test_an_integer_division_by_zero() -> None:
    assert "division by zero" in refused("int* y, int n", "y[0] = 7 / n;", [ints(1), 0])


def test_a_copy_outside_shared_memory() -> None:
    arrays = [np.zeros(128, np.float32) for _ in range(2)]
    report = refused(
        "const float* x, float* y", COPY.replace("WAIT", ""), arrays, threads=32, shared_bytes=496
    )
    assert "cp.async at byte 496 of 496 bytes of shared memory" in report


def test_ptx_without_a_host_version() -> None:
    report = refused("int* y", 'asm volatile("discard.global.L2;" ::: "memory");', [ints(1)])
    assert "the PTX instruction discard_global_L2 has no host version" in report


@pytest.mark.parametrize("body", ["__shared__ int x[3];", "volatile int x = 0;"])
def test_cuda_that_is_not_translated(body: str) -> None:
    assert "line 4 is CUDA that the emulator does not know" in refused("int* y", body, [ints(1)])


def test_a_text_that_does_not_compile() -> None:
    assert "kernel.cu:4" in refused("int* y", "y[0] = nothing;", [ints(1)])


@pytest.mark.parametrize("args", [[], [3], [np.zeros((4, 4), np.int32).T]])
def test_arguments_that_do_not_fit(args: list[Any]) -> None:
    refused("int* y", "", args)


# The translation


def test_parameters_are_read_from_the_text() -> None:
    text = kernel(
        "const float* __restrict__ x,\n    unsigned short* __restrict__ y,\n    int n", ""
    )
    assert entries("// a kernel\n" + text) == {
        "k": (
            Parameter("x", "float", True, True),
            Parameter("y", "unsigned short", True, False),
            Parameter("n", "int", False, True),
        )
    }


def test_assembly_is_taken_apart() -> None:
    text = """asm volatile("mad.lo.s32 %0, {%1}, %2, %1;"
      "nop;" : "=r"(d[0]) : "r"(f(a, b)), "n"(4) : "memory");"""
    ((start, end, template, operands),) = assembly(text + " x = 1;")
    assert text[start:end] == text[:-1]
    assert operands == ["d[0]", "f(a, b)", "4"]
    assert mnemonics(template) == ["mad_lo_s32", "nop"]


def test_translation_keeps_the_lines() -> None:
    body = '/* a\n b */ int d;\nasm("mov.b32\\n" // why\n " %0, 1;" : "=r"(d));\ny[0] = LAST;'
    text = kernel("int* y", body.replace("mov.b32", "neg.f16x2").replace("1;", "%0;"))
    lines = translate(text, "k").splitlines()
    assert lines[1] == '#line 1 "kernel.cu"'
    assert lines.index("y[0] = LAST;") - 2 == text.splitlines().index("y[0] = LAST;")


def test_only_what_shares_memory_runs_side_by_side() -> None:
    assert not meets_other_blocks(kernel("int* y", 'asm volatile("nop;"); // atomicAdd(y, 1)'))
    assert meets_other_blocks(kernel("int* y", "atomicAdd(y, 1);"))
    assert meets_other_blocks(kernel("int* y", "while (*(volatile int*)y) {}"))


def test_a_kernel_may_have_the_name_of_a_c_function() -> None:
    y = ints(1)
    text = kernel("int* y", "y[0] = 5;").replace("\nk(", "\nrandom(")
    emulate(text, "random", [y], 1, 32)
    assert y[0] == 5


# Alignment


def test_a_buffer_begins_where_it_is_asked_to() -> None:
    for align in (1, 2, 4, 8, 16):
        y = np.zeros(5, np.uint64 if align == 8 else np.uint8)
        at = np.zeros(1, np.uint64)
        body = "if (threadIdx.x == 0) *at = (unsigned long long)y;"
        params = "const unsigned char* y, unsigned long long* at"
        run(params, body, [y, at], alignments={0: align})
        assert int(at[0]) % min(16, 2 * align) == align % 16


def test_a_wide_access_to_what_begins_in_between_is_refused() -> None:
    body = "if (threadIdx.x == 0) *y = *(const int*)(x + 4);"
    x, y = np.arange(8, dtype=np.uint8), ints(1)
    run("const unsigned char* x, int* y", body, [x, y], alignments={0: 4})
    assert y[0] == int.from_bytes(bytes([4, 5, 6, 7]), "little")
    found = refused("const unsigned char* x, int* y", body, [x, y], alignments={0: 2})
    assert "not a multiple of 4" in found


# Launches that overlap

WAIT = 'asm volatile("griddepcontrol.wait;" ::: "memory");'
ASK = 'asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" :: "l"(x + {0}), "r"({1}));'


def test_a_launch_may_ask_for_memory_before_it_waits() -> None:
    x, y = np.arange(64, dtype=np.int32), ints(64)
    body = f"{ASK.format(4, 32)} {WAIT} y[threadIdx.x] = x[threadIdx.x];"
    run("const int* x, int* y", body, [x, y], grid=3)
    assert y.tolist() == x.tolist()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"y[threadIdx.x] = 1; {WAIT}", "access to y before griddepcontrol.wait"),
        (f"const int v = x[threadIdx.x]; {WAIT} y[threadIdx.x] = v;", "access to x before"),
        (f"if (threadIdx.x) {{ {WAIT} }} y[threadIdx.x] = 1;", "access to y before"),
        ("y[threadIdx.x] = 1;", "access to y before"),
        ("", "block 0 ends without griddepcontrol.wait"),
        (f"{ASK.format(60, 32)} {WAIT}", "prefetch of bytes that are in no buffer"),
        (f"{ASK.format(1, 32)} {WAIT}", "multiples of 16"),
    ],
)
def test_early_accesses_are_refused(body: str, text: str) -> None:
    args = [np.arange(64, dtype=np.int32), ints(64)]
    assert text in refused("const int* x, int* y", body, args, dependent=True)
