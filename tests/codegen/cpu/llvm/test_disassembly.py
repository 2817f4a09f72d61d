"""Code for a level of CPUs, disassembled: an assembler that knows the level alone takes it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import dslc
import pytest

# x86-64-v3, as the GNU assembler names its parts.
_V3 = "generic64+sse4.2+avx2+fma+bmi+bmi2+f16c+lzcnt+movbe+cx16+popcnt"
_JUMP = re.compile(r"^(j\w+|call)\s.*")
_PLACE = re.compile(r"\s*(<[^>]*>|#.*)$")
EXAMPLES = Path(__file__).parents[4] / "examples"
KERNELS = [
    ("w4a8.tile", "gemm_w4a8_channel", {"M": 16, "K": 128, "N": 64, "BM": 16, "BN": 64, "BK": 64}),
    ("softmax.tile", "softmax", {"M": 5, "N": 1000}),
]


def disassembled(library: bytes, folder: Path) -> list[str]:
    """The instructions, each text once, jumps without their targets."""
    file = folder / "library.so"
    file.write_bytes(library)
    command = ["objdump", "-d", "-w", "--no-show-raw-insn", str(file)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = (line.split("\t", 1)[1] for line in text.splitlines() if line.startswith(" "))
    found = (_PLACE.sub("", line).strip() for line in lines if "(bad)" not in line)
    code = (line for line in found if not line.startswith("data16"))  # pads loops
    return sorted({_JUMP.sub(r"\1 0", line) for line in code})


def refused(instructions: list[str], folder: Path) -> str:
    """What the assembler says of them; nothing where it knows all."""
    command = ["as", f"-march={_V3}", "-o", str(folder / "again.o"), "-"]
    text = "\n".join(instructions) + "\n"
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).stderr


@pytest.fixture(autouse=True)
def binutils() -> None:
    """Those of x86-64."""
    tools = [shutil.which(name) for name in ("objdump", "as")]
    if None in tools:
        pytest.skip("there are no binutils")
    version = subprocess.run(["as", "--help"], capture_output=True, text=True, check=False).stdout
    if "-march=CPU" not in version:
        pytest.skip("the binutils are not those of x86")


def library_of(file: str, name: str, sizes: dict[str, int], target: str) -> bytes:
    kernel = dslc.compile(EXAMPLES / file, target=target, cache=False)[name]
    choices = {n: size for n, size in sizes.items() if n in kernel.origin.signature.tunes}
    made = kernel.specialize_for({n: sizes[n] for n in sizes.keys() - choices}, choices).binary(
        "so"
    )
    assert made is not None
    return made


@pytest.mark.parametrize(("file", "name", "sizes"), KERNELS, ids=lambda x: str(x)[:12])
def test_code_for_v3_is_taken_by_an_assembler_for_it(
    file: str, name: str, sizes: dict[str, int], tmp_path: Path
) -> None:
    instructions = disassembled(library_of(file, name, sizes, "cpu:x86-64-v3"), tmp_path)
    assert len(instructions) > 50
    assert any("%ymm" in line for line in instructions)
    assert refused(instructions, tmp_path) == ""


def test_code_for_v4_is_not(tmp_path: Path) -> None:
    instructions = disassembled(library_of(*KERNELS[1], "cpu:x86-64-v4"), tmp_path)
    assert "Error" in refused(instructions, tmp_path)
