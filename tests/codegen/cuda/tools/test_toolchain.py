from __future__ import annotations

from pathlib import Path

import pytest
from dslc.codegen.cuda.tools import locate, toolchain
from dslc.codegen.cuda.tools import nvrtc as binding
from dslc.codegen.cuda.tools.resources import Resources, parse_resources
from dslc.codegen.cuda.tools.toolchain import Options, compile_cubin, compile_ptx
from dslc.compiler.diagnostics import DiagnosticError

SCALE = """
extern "C" __global__ void __launch_bounds__(128) scale(const float* x, float* y, float s, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = x[i] * s + 1.0f;
}
"""
SPILLING = """
extern "C" __global__ void spilling(float* x, int n) {
  float t[64] = {};
  for (int i = 0; i < n; ++i) t[(i * n) & 63] += x[i];
  for (int i = 0; i < n; ++i) x[i] = t[(i + n) & 63];
}
"""
ELF = b"\x7fELF"


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a", "sm_100a", "sm_120"])
def test_a_cubin_for_every_architecture(nvrtc: None, architecture: str) -> None:
    binary = compile_cubin(SCALE, architecture)
    assert binary.cubin.startswith(ELF)
    assert binary.architecture == architecture
    assert 0 < binary.resources["scale"].registers < 32
    assert not binary.resources["scale"].spills


def test_ptx_names_its_architecture(nvrtc: None) -> None:
    text = compile_ptx(SCALE, "sm_90a")
    assert ".target sm_90a" in text
    assert ".entry scale" in text


def test_products_and_sums_are_contracted_only_where_asked(nvrtc: None) -> None:
    assert "fma.rn" not in compile_ptx(SCALE, "sm_80")
    assert "fma.rn" in compile_ptx(SCALE, "sm_80", Options(fmad=True))


def test_line_information_is_an_option(nvrtc: None) -> None:
    assert ".loc" not in compile_ptx(SCALE, "sm_80")
    assert ".loc" in compile_ptx(SCALE, "sm_80", Options(line_info=True))


def test_a_limit_of_registers_is_kept(nvrtc: None) -> None:
    wide = """extern "C" __global__ void wide(float* x) {
      float t[48];
      #pragma unroll
      for (int i = 0; i < 48; ++i) t[i] = x[threadIdx.x + i * 32];
      __syncthreads();
      #pragma unroll
      for (int i = 0; i < 48; ++i) x[threadIdx.x * 48 + i] = t[47 - i];
    }"""
    free = compile_cubin(wide, "sm_80").resources["wide"]
    tight = compile_cubin(wide, "sm_80", Options(registers=32)).resources["wide"]
    assert tight.registers <= 32 < free.registers
    assert tight.spills
    assert tight.spill_stores > 0
    assert not free.spills


def test_an_indexed_array_is_seen_as_stack(nvrtc: None) -> None:
    assert compile_cubin(SPILLING, "sm_90a").resources["spilling"].stack == 256


def test_an_error_names_the_emitted_line(nvrtc: None) -> None:
    with pytest.raises(DiagnosticError) as caught:
        compile_cubin(
            'extern "C" __global__ void f(float* x) {\n  *x = y;\n}\n', "sm_90a", name="f.cu"
        )
    (found,) = caught.value.diagnostics
    assert found.code == "DSL0952"
    assert found.loc is not None
    assert (found.loc.file, found.loc.line) == ("f.cu", 2)
    assert 'identifier "y" is undefined' in found.message
    assert "`*x = y;`" in found.message


def test_an_error_of_the_assembler_is_one_of_its_own(nvrtc: None) -> None:
    greedy = (
        'extern "C" __global__ void f(int* x) { __shared__ int s[99999]; s[*x] = 1; *x = s[x[1]]; }'
    )
    with pytest.raises(DiagnosticError, match="too much shared data") as caught:
        compile_cubin(greedy, "sm_80")
    assert caught.value.diagnostics[0].code == "DSL0952"


def test_an_unknown_architecture_is_an_error(nvrtc: None) -> None:
    with pytest.raises(DiagnosticError, match="sm_50") as caught:
        compile_cubin(SCALE, "sm_50")
    assert caught.value.diagnostics[0].code == "DSL0953"


def test_without_a_compiler_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "find_library", lambda name: None)
    binding.load_nvrtc.cache_clear()
    with pytest.raises(DiagnosticError) as caught:
        compile_cubin(SCALE, "sm_90a")
    (found,) = caught.value.diagnostics
    assert found.code == "DSL0951"
    assert "pip install" in str(found.hint)


def test_nvcc_gives_the_same_kernel(nvrtc: None) -> None:
    if locate.find_tool("nvcc") is None:
        pytest.skip("needs nvcc")
    binary = compile_cubin(SCALE, "sm_80", Options(compiler="nvcc"))
    assert binary.cubin.startswith(ELF)
    assert binary.resources["scale"] == compile_cubin(SCALE, "sm_80").resources["scale"]
    assert ".entry scale" in compile_ptx(SCALE, "sm_80", Options(compiler="nvcc"))
    with pytest.raises(DiagnosticError, match="undefined") as caught:
        compile_cubin("__global__ void f(int* x) { *x = y; }", "sm_80", Options(compiler="nvcc"))
    assert caught.value.diagnostics[0].loc is not None


def test_the_identity_tells_compilers_and_options_apart(nvrtc: None) -> None:
    plain = toolchain.toolchain_identity()
    assert plain == toolchain.toolchain_identity(Options())
    assert plain != toolchain.toolchain_identity(Options(fmad=True))
    assert plain.startswith("nvrtc ")


def test_a_toolkit_named_by_the_environment_counts_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib64").mkdir()
    for name in (
        "libnvrtc.so.12",
        "libnvrtc.so.13",
        "libnvrtc.alt.so.14",
        "libnvrtc-builtins.so.15",
    ):
        (tmp_path / "lib64" / name).touch()
    monkeypatch.setenv("DSLC_CUDA_HOME", str(tmp_path))
    assert locate.find_library("nvrtc") == str(tmp_path / "lib64" / "libnvrtc.so.13")


def test_resources_of_several_kernels_are_told_apart() -> None:
    log = """ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are \
serialized due to wgmma pipeline crossing function boundary at a function call in the function 'b'
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90a'
ptxas info    : Function properties for a
ptxas         .     8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 30 registers, used 2 barriers, 8 bytes cumulative stack size, 48 bytes smem
ptxas info    : Compiling entry function 'b' for 'sm_90a'
ptxas info    : Function properties for b
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers
"""
    found = parse_resources(log)
    assert found == {"a": Resources(30, 8, 4, 12, 48, 2), "b": Resources(8, serialized=1)}
    assert found["a"].spills
    assert not found["b"].spills


def test_what_was_compiled_before_is_reported_again(nvrtc: None) -> None:
    """NVRTC's own cache, which exists where there is a driver, would leave the report out."""
    first, second = (compile_cubin(SCALE, "sm_90a") for _ in range(2))
    assert first.resources == second.resources
    assert first.resources["scale"].registers
