"""What a C program finds this CPU to have, beside what the operating system says."""

from __future__ import annotations

import platform
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
from dslc.codegen.c_interface.cpu_features import ARM, X86, condition
from dslc.compiler.targets.cpu import TARGETS, processor_of
from dslc.runtime.native import host_features


def test_every_feature_of_a_target_can_be_asked() -> None:
    for target in TARGETS:
        cpu = processor_of(target)
        assert cpu.features <= (X86 if cpu.machine == "x86_64" else ARM).keys(), target.name
    assert condition((), "x86_64") == condition((), "aarch64") == "1"
    assert condition(["fp16", "dotprod"], "aarch64") == "dslc_has(16, 0x100600ul)"


@pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("gcc") is None, reason="needs gcc on x86-64"
)
def test_each_is_found_where_the_system_says_so(tmp_path: Path) -> None:
    part = files("dslc.codegen.c_interface").joinpath("features_x86_64.c").read_text()
    lines = [f'  if ({condition([name], "x86_64")}) puts("{name}");' for name in X86]
    text = ["#include <cpuid.h>", "#include <stdio.h>", part, "int main(void) {", *lines, "}"]
    (tmp_path / "main.c").write_text("\n".join(text))
    subprocess.run(["gcc", "-Wall", "-Werror", "main.c", "-o", "main"], cwd=tmp_path, check=True)
    said = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=True)
    assert set(said.stdout.split()) == host_features() & X86.keys()
