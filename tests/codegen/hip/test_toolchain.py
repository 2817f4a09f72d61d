"""The compilers of HIP C++: what they give, and what is said where they refuse."""

from __future__ import annotations

import pytest
from dslc.codegen.hip import compilers as found
from dslc.codegen.hip.resources import Resources, parse_resources
from dslc.codegen.hip.toolchain import Options, compile_hip, find_compiler, toolchain_identity
from dslc.compiler.diagnostics import DiagnosticError

KERNEL = """extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 64)))
void twice(float* x) {
  static __attribute__((shared)) float kept[128];
  const int i = __builtin_amdgcn_workitem_id_x();
  kept[i] = x[i];
  __builtin_amdgcn_s_barrier();
  x[i] = kept[63 - i] * 2.0f;
}
"""


@pytest.mark.usefixtures("clang")
@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_a_text_becomes_isa_a_code_object_and_resources(chip: str) -> None:
    made = compile_hip(KERNEL, chip)
    assert f"amdgcn-amd-amdhsa--{chip}" in made.isa
    assert made.hsaco[:4] == b"\x7fELF"
    used = made.resources["twice"]
    assert used.shared == 512
    assert used.registers > 0
    assert not used.spills


@pytest.mark.usefixtures("clang")
def test_the_same_text_gives_the_same_bytes() -> None:
    assert compile_hip(KERNEL, "gfx950").hsaco == compile_hip(KERNEL, "gfx950").hsaco


@pytest.mark.usefixtures("clang")
def test_lines_of_the_text_are_in_the_isa_where_they_are_asked_for() -> None:
    assert "\t.loc\t" in compile_hip(KERNEL, "gfx950", Options(line_info=True)).isa


@pytest.mark.usefixtures("clang")
def test_what_does_not_compile_is_told_by_its_line() -> None:
    with pytest.raises(DiagnosticError) as caught:
        compile_hip(KERNEL.replace("x[i] = kept", "x[i] = lost"), "gfx950")
    (first,) = caught.value.diagnostics
    assert first.code == "DSL0952"
    assert first.loc is not None
    assert first.loc.line == 7
    assert "lost" in first.message


@pytest.mark.usefixtures("clang")
def test_an_unknown_chip_is_told() -> None:
    with pytest.raises(DiagnosticError) as caught:
        compile_hip(KERNEL, "gfx9999")
    assert caught.value.diagnostics[0].code == "DSL0953"


@pytest.mark.usefixtures("clang")
def test_the_identity_names_the_compiler_and_its_version() -> None:
    assert "clang version" in toolchain_identity()


def test_one_compiler_may_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(found.VARIABLE, "rocm")
    monkeypatch.setattr(found, "_rocm", lambda: found.Compiler("rocm", ("clang",), ("ld.lld",)))
    assert find_compiler().name == "rocm"
    monkeypatch.setattr(found, "_rocm", lambda: None)
    with pytest.raises(DiagnosticError) as caught:
        find_compiler()
    assert caught.value.diagnostics[0].code == "DSL0951"


def test_resources_of_several_kernels_are_told_apart() -> None:
    isa = """
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     4
    .args:
      - .offset:         0
        .size:           8
    .group_segment_fixed_size: 512
    .name:           one
    .private_segment_fixed_size: 0
    .sgpr_count:     12
    .vgpr_count:     24
    .vgpr_spill_count: 0
  - .agpr_count:     0
    .group_segment_fixed_size: 0
    .name:           two
    .private_segment_fixed_size: 16
    .sgpr_count:     8
    .sgpr_spill_count: 1
    .vgpr_count:     512
    .vgpr_spill_count: 3
...
	.end_amdgpu_metadata
"""
    assert parse_resources(isa) == {
        "one": Resources(24, 4, 12, shared=512),
        "two": Resources(512, 0, 8, 16, 3, 1),
    }
