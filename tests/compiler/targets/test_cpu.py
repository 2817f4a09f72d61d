"""CPUs as data, beside what another compiler knows of them."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys

import pytest
from dslc.compiler.targets.cpu import (
    SETS,
    TARGETS,
    V3,
    V4,
    best_of,
    processor_by_name,
    processor_of,
)

KINDS = [t for t in TARGETS if t.name not in SETS]
NAMES = [t.name.partition(":")[2] for t in KINDS]
# What zig calls some of them.
_ZIG = {"x86-64-v3": "x86_64_v3", "x86-64-v4": "x86_64_v4", "armv8-a": "generic"}
_SPELLED = {"sse4.1": "sse4_1", "sse4.2": "sse4_2", "fp16": "fullfp16"}


def test_vectors_and_registers_follow_from_the_features() -> None:
    for target in KINDS:
        cpu = processor_of(target)
        wide = "avx512f" in cpu.features
        bits = {"x86_64": 512 if wide else 256, "aarch64": 128}[cpu.machine]
        assert cpu.vector_bits == bits, target.name
        assert cpu.registers == (16 if bits == 256 else 32), target.name
        assert cpu.l1 < cpu.l2, target.name
        reserved = cpu.machine == "aarch64"
        assert cpu.attributes.count("+") == len(cpu.features) + reserved


def test_a_level_holds_the_one_below() -> None:
    assert V3 < V4
    for target in KINDS:
        cpu = processor_of(target)
        assert (cpu.base == "x86-64-v4") == (cpu.features >= V4), target.name
        assert cpu.machine != "x86_64" or cpu.features >= V3


def test_atoms_are_those_of_the_features() -> None:
    atoms = {t.name: processor_of(t).atoms for t in KINDS}
    assert atoms["cpu:x86-64-v3"] == ("vpmaddwd", "vpmaddubsw")
    assert "vpdpbusd" in atoms["cpu:alderlake"]
    assert {"vpdpbusd", "vdpbf16ps"} <= {*atoms["cpu:znver4"]}
    assert "vdpbf16ps" not in atoms["cpu:icelake-server"]
    assert "smmla" in atoms["cpu:apple-m2"]
    assert "smmla" not in atoms["cpu:apple-m1"]


@pytest.mark.parametrize(
    ("more", "name", "found"),
    [
        (frozenset(), "", "x86-64-v3"),
        (frozenset(), "znver", "znver3"),
        (V4, "", "x86-64-v4"),
        (V4 | {"avx512vnni"}, "", "cascadelake"),
        (V4, "znver", "x86-64-v4"),  # a CPU whose features a hypervisor hides
        (processor_of(KINDS[NAMES.index("znver4")]).features, "", "znver4"),
    ],
)
def test_the_best_is_the_one_with_the_most_features(
    more: frozenset[str], name: str, found: str
) -> None:
    assert best_of(NAMES, "x86_64", V3 | more, name) == found


def test_a_set_is_of_one_machine_and_begins_with_the_least() -> None:
    for name, members in SETS.items():
        cpus = [processor_by_name(n) for n in members]
        assert len({c.machine for c in cpus}) == 1
        assert all(cpus[0].features <= c.features for c in cpus)
        assert processor_by_name(name) == cpus[0]


def test_none_fits_a_cpu_that_lacks_a_feature() -> None:
    assert best_of(NAMES, "x86_64", V3 - {"fma"}) is None
    assert best_of(NAMES, "riscv64", V4) is None
    assert best_of(["znver4"], "x86_64", V4) is None


@pytest.mark.deep
@pytest.mark.parametrize("name", NAMES)
def test_another_compiler_knows_the_cpu_to_have_them(name: str) -> None:
    """Zig's table of CPUs has been written from the makers' manuals, as LLVM's."""
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("needs ziglang")
    cpu = processor_of(KINDS[NAMES.index(name)])
    model = _ZIG.get(name, name).replace("-", "_")
    said = subprocess.run(
        [sys.executable, "-m", "ziglang", "build-exe", "--show-builtin",
         "-target", f"{cpu.machine}-linux", f"-mcpu={model}"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    listed = {w.strip('@"') for w in re.findall(r"^        \.(@?[\w\".]+),", said, re.MULTILINE)}
    assert {_SPELLED.get(f, f).replace("-", "_") for f in cpu.features} <= listed
