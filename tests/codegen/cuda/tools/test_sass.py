from __future__ import annotations

import pytest
from dslc.codegen.cuda.tools import sass
from dslc.codegen.cuda.tools.sass import Code, Instruction, disassemble
from dslc.codegen.cuda.tools.toolchain import compile_cubin
from dslc.compiler.diagnostics import DiagnosticError

COPY = """
extern "C" __global__ void copy(const float4* x, float4* y, int n) {
  for (int r = blockIdx.y; r < n; r += gridDim.y) {
    __syncthreads();
    #pragma unroll 1
    for (int i = threadIdx.x; i < n; i += 128) y[r * n + i] = x[r * n + i];
  }
}
"""
MATRIX = """
extern "C" __global__ void product(const unsigned* a, const unsigned* b, float* c, int k) {
  float d[4] = {};
  #pragma unroll 1
  for (int i = 0; i < 9; ++i) c[i + threadIdx.x] = a[i] + b[i] + a[i + 50] + b[i + 50];
  #pragma unroll 1
  for (int i = threadIdx.x; i < k; i += 32) {
    unsigned p[4] = {a[4 * i], a[4 * i + 1], a[4 * i + 2], a[4 * i + 3]};
    unsigned q[2] = {b[2 * i], b[2 * i + 1]};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
        " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[0]), "r"(q[1]));
  }
  for (int i = 0; i < 4; ++i) c[4 * threadIdx.x + i] = d[i];
}
"""
STACK = """
extern "C" __global__ void stack(float* x, int n) {
  float t[64] = {};
  for (int i = 0; i < n; ++i) t[(i * n) & 63] += x[i];
  for (int i = 0; i < n; ++i) x[i] = t[(i + n) & 63];
}
"""
ARCHITECTURES = ["sm_80", "sm_90a", "sm_100a", "sm_120"]


def code(source: str, architecture: str) -> Code:
    (found,) = disassemble(compile_cubin(source, architecture).cubin)
    return found


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_main_loop_is_the_inner_copy(nvdisasm: None, architecture: str) -> None:
    copy = code(COPY, architecture)
    loop = copy.main_loop()
    assert copy.name == "copy"
    assert loop is not None
    assert loop.count("LDG.E.128") == loop.count("STG.E.128") == loop.mix()["global"] / 2 == 1
    assert loop.count("BAR") == 0
    assert any(outer.count("BAR") and len(outer) > len(loop) for outer in copy.loops())


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_main_loop_holds_the_matrix_instruction(nvdisasm: None, architecture: str) -> None:
    loop = code(MATRIX, architecture).main_loop()
    assert loop is not None
    assert loop.mix()["matrix"] == 1
    assert loop.count("HMMA.16816") == 1
    assert not loop.spills()
    assert loop.instructions[-1].target == loop.instructions[0].address


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_local_memory_is_found(nvdisasm: None, architecture: str) -> None:
    stack = code(STACK, architecture)
    assert {i.name for i in stack.spills()} == {"LDL", "STL"}
    assert not code(COPY, architecture).spills()


def test_every_instruction_counts_once(nvdisasm: None) -> None:
    product = code(MATRIX, "sm_90a")
    assert sum(product.mix().values()) == len(product)
    assert len(product.text().splitlines()) == len(product.instructions)


def listing(*lines: str) -> Code:
    """A function of instructions as `@P0 BRA 0x10`."""
    made = []
    for n, line in enumerate(lines):
        predicate, _, rest = line.partition(" ") if line.startswith("@") else ("", "", line)
        opcode, _, operands = rest.partition(" ")
        made.append(Instruction(16 * n, opcode, operands, predicate))
    return Code("f", tuple(made))


def test_loops_nest_and_share_heads() -> None:
    f = listing(
        "MOV R0, RZ", "LDG R1", "@P0 BRA 0x10", "FADD R1, R1", "@P1 BRA 0x10", "@P2 BRA 0x0", "EXIT",
        "BRA 0x70", "NOP",
    )  # fmt: skip
    assert [(c.instructions[0].address, c.instructions[-1].address) for c in f.loops()] == [
        (0, 0x50),
        (0x10, 0x40),
    ]
    loop = f.main_loop()
    assert loop is not None
    assert loop.name == "f+0x10"
    assert len(loop) == 4
    assert loop.per(elements=64, threads=32) == 2.0


def test_code_without_loops_has_no_main_loop() -> None:
    assert listing("LDG R1", "EXIT", "BRA 0x20").main_loop() is None


def test_what_is_no_cubin_is_an_error(nvdisasm: None) -> None:
    with pytest.raises(DiagnosticError) as caught:
        disassemble(b"not a cubin")
    assert caught.value.diagnostics[0].code == "DSL0954"


def test_output_of_another_form_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sass, "_run_nvdisasm", lambda cubin: '[{}, [{"function": 1}]]')
    with pytest.raises(DiagnosticError, match="not understood"):
        disassemble(b"")


def test_without_nvdisasm_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sass, "find_tool", lambda name: None)
    with pytest.raises(DiagnosticError, match="nvdisasm") as caught:
        disassemble(b"")
    assert caught.value.diagnostics[0].code == "DSL0951"
