"""Libraries of our own linker, read by a loader, binutils, an emulator and another linker."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from dslc.codegen.cpu.tools.archives import archive
from dslc.codegen.cpu.tools.elf_library import link_elf
from dslc.codegen.cpu.tools.relocations import apply
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.aarch64.emulated import EmulatedProcessor

from support.aarch64 import guest_program, needs_emulator
from support.llvm import TRIPLES, object_of

# y[i] = table[i % 4] + x[i] * 0.5: constants of two sections, a call of a function that is internal.
TEXT = """
@table = private unnamed_addr constant [4 x float] [float 1.0, float 2.0, float 4.0, float 8.0]

define internal float @half(float %x) noinline {
  %y = fmul float %x, 0x3FE0000000000000
  ret float %y
}

define i32 @NAME(ptr %args, i64 %begin, i64 %end, ptr %scratch) {
entry:
  %x = load ptr, ptr %args
  %second = getelementptr i64, ptr %args, i64 1
  %y = load ptr, ptr %second
  %some = icmp slt i64 %begin, %end
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %digit = and i64 %i, 3
  %entry_of = getelementptr float, ptr @table, i64 %digit
  %offset = load float, ptr %entry_of
  %from = getelementptr float, ptr %x, i64 %i
  %given = load float, ptr %from
  %halved = call float @half(float %given)
  %sum = fadd float %offset, %halved
  %to = getelementptr float, ptr %y, i64 %i
  store float %sum, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret i32 RESULT
}
"""
NATIVE = platform.machine() == "x86_64"


def text(name: str = "f", result: int = 0) -> str:
    return TEXT.replace("NAME", name).replace("RESULT", str(result))


def wanted(x: np.ndarray) -> np.ndarray:
    return np.array([1, 2, 4, 8] * (len(x) // 4), np.float32) + x * np.float32(0.5)


def refused(*objects: bytes) -> str:
    with pytest.raises(DiagnosticError) as raised:
        link_elf(objects)
    assert raised.value.diagnostics[0].code == "DSL0952"
    return raised.value.diagnostics[0].message


@pytest.mark.skipif(not NATIVE, reason="needs an x86-64 Linux")
def test_the_loader_takes_two_objects_as_one_library(tmp_path: Path) -> None:
    file = tmp_path / "two.so"
    objects = [object_of(text("f", 3), "x86_64"), object_of(text("g", 4), "x86_64")]
    file.write_bytes(link_elf(objects))
    library = ctypes.CDLL(str(file))
    x = np.arange(8, dtype=np.float32)
    for name, result in (("f", 3), ("g", 4)):
        y = np.zeros(8, np.float32)
        function = library[name]
        function.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
        words = (ctypes.c_uint64 * 2)(x.ctypes.data, y.ctypes.data)
        assert function(words, 0, 8, None) == result
        np.testing.assert_array_equal(y, wanted(x))
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    modes = [line.split()[1] for line in lines if line.endswith("two.so")]
    assert modes
    assert not [m for m in modes if "w" in m], "nothing can be written once it is loaded"
    assert sum("x" in m for m in modes) == 1


def test_an_emulated_arm_cpu_runs_one() -> None:
    needs_emulator()
    library = EmulatedProcessor(guest_program(), "cortex-a57").load(
        link_elf([object_of(text(), "aarch64")])
    )
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    assert library.call("f", [x, y], [1], 8, 2) == 0
    np.testing.assert_array_equal(y, wanted(x))


@pytest.mark.parametrize("machine", TRIPLES)
def test_binutils_find_nothing_to_complain_of(machine: str, tmp_path: Path) -> None:
    if shutil.which("readelf") is None:
        pytest.skip("needs readelf")
    file = tmp_path / "a.so"
    file.write_bytes(link_elf([object_of(text(), machine)]))
    said = subprocess.run(
        ["readelf", "--all", "--wide", "--lint", str(file)],
        capture_output=True,
        text=True,
        check=True,
        env={"LC_ALL": "C"},
    )
    assert "arning" not in said.stderr + said.stdout
    assert "There are no relocations in this file" in said.stdout
    rows = [line.split() for line in said.stdout.splitlines() if " FUNC " in line]
    assert [(r[4], r[7]) for r in rows if r[7] == "f"] == [("GLOBAL", "f")]


@pytest.mark.skipif(not NATIVE or shutil.which("gcc") is None, reason="needs gcc for x86-64")
@pytest.mark.parametrize("form", ["so", "a"])
def test_another_linker_links_c_with_it(form: str, tmp_path: Path) -> None:
    made = object_of(text(), "x86_64")
    is_archive = form == "a"
    content = archive({"a_name_of_many_letters.o": made}) if is_archive else link_elf([made])
    (tmp_path / f"libkernel.{form}").write_bytes(content)
    (tmp_path / "main.c").write_text(
        "#include <stdint.h>\n"
        "int32_t f(const uint64_t *, int64_t, int64_t, void *);\n"
        "int main(void) {\n"
        "  float x[4] = {0, 1, 2, 3}, y[4] = {0};\n"
        "  uint64_t words[] = {(uintptr_t)x, (uintptr_t)y};\n"
        "  return f(words, 0, 4, 0) || y[0] != 1 || y[1] != 2.5f || y[2] != 5 || y[3] != 9.5f;\n"
        "}\n"
    )
    linked = ["gcc", "main.c", "-o", "main", "-L.", "-lkernel", "-Wl,-rpath,$ORIGIN"]
    subprocess.run(linked, cwd=tmp_path, check=True)
    subprocess.run([str(tmp_path / "main")], check=True)


def test_equal_objects_give_equal_bytes() -> None:
    made = object_of(text(), "x86_64")
    assert link_elf([made]) == link_elf([made])
    assert archive({"a.o": made}) == archive({"a.o": made})


def test_a_symbol_of_nobody_is_named() -> None:
    call = "declare float @fmodf(float, float)\n" + text().replace(
        "%sum = fadd float %offset, %halved",
        "%sum = call float @fmodf(float %offset, float %halved)",
    )
    assert "nothing defines fmodf" in refused(object_of(call, "x86_64"))


def test_state_between_calls_is_refused() -> None:
    state = "@count = internal global i64 7\n" + text().replace(
        "%x = load ptr, ptr %args", "%x = load ptr, ptr %args\n store i64 %begin, ptr @count"
    )
    for found in (state, state.replace("i64 7", "i64 0")):
        assert "no state between calls" in refused(object_of(found, "x86_64"))


def test_an_absolute_address_is_refused() -> None:
    table = "@places = constant [2 x ptr] [ptr @f, ptr @f]\n" + text()
    assert "no state" in refused(object_of(table, "x86_64"))  # .data.rel.ro


def test_two_definitions_and_two_machines_are_refused() -> None:
    made = object_of(text(), "x86_64")
    assert "f is defined twice" in refused(made, made)
    assert "several machines" in refused(made, object_of(text("g"), "aarch64"))
    assert "no object of ELF" in refused(b"MZ" + made)
    assert "linked already" in refused(link_elf([made]))


def test_a_distance_that_has_no_room_is_refused() -> None:
    for kind, place, target in ((283, 0, 1 << 28), (279, 0, 1 << 16), (299, 0, 8), (257, 0, 8)):
        with pytest.raises(DiagnosticError):
            apply(bytearray(8), 183, kind, place, target)
    with pytest.raises(DiagnosticError):
        apply(bytearray(8), 62, 2, 0, 1 << 31)
    with pytest.raises(DiagnosticError):
        apply(bytearray(8), 62, 1, 0, 8)


@pytest.mark.parametrize("at", [4, 16, 18, 40, 62])
def test_a_damaged_header_is_refused(at: int) -> None:
    made = bytearray(object_of(text(), "x86_64"))
    made[at] ^= 0xFF
    refused(bytes(made))
