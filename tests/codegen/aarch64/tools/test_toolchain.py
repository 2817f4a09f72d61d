from __future__ import annotations

import pytest
from dslc.codegen.aarch64.machine_code.macho import for_macos
from dslc.codegen.aarch64.tools.assemblers import VARIABLE, Assembler, assemblers
from dslc.codegen.aarch64.tools.toolchain import find_assembler, link, toolchain_identity
from dslc.compiler.diagnostics import DiagnosticError

ADD = """
    .arch armv8.6-a+i8mm+bf16+dotprod+fp16
    .text
    .p2align 4
    .globl add
    .type add, %function
add:                                    // x0 = x0 + x1, the long way
    cbz x1, .Ldone
.Lloop:
    add x0, x0, #1
    subs x1, x1, #1
    b.ne .Lloop
.Ldone:
    smmla v0.4s, v1.16b, v2.16b
    usdot v0.4s, v1.16b, v2.4b[1]
    bfmmla v0.4s, v1.8h, v2.8h
    ret
    .size add, . - add
"""
TWICE = """
    .text
    .globl twice
    .type twice, %function
twice:
    adr x1, .Lfactor
    ldr x1, [x1]
    mul x0, x0, x1
    ret
    .p2align 3
.Lfactor:
    .quad 2
    .size twice, . - twice
"""
INSTALLED = [pytest.param(a, id=a.name) for a in assemblers()]

if not INSTALLED:
    pytest.skip("there is no assembler for AArch64", allow_module_level=True)


def code_of(library: bytes) -> bytes:
    """The bytes from smmla on: the same whoever assembled them."""
    at = library.index(bytes.fromhex("20a4824e"))
    return library[at - 16 : at + 16]


@pytest.mark.parametrize("assembler", INSTALLED)
def test_the_same_texts_give_the_same_bytes(assembler: Assembler) -> None:
    first, second = (link({"a": ADD, "t": TWICE}, assembler=assembler) for _ in range(2))
    assert first == second
    assert first.startswith(b"\x7fELF")
    assert b"/tmp" not in first


@pytest.mark.skipif(len(INSTALLED) < 2, reason="one assembler alone is installed")
def test_every_assembler_encodes_the_same() -> None:
    made = {code_of(link({"a": ADD}, assembler=a)) for a in assemblers()}
    assert len(made) == 1


def test_a_text_that_does_not_assemble_is_named_with_its_line() -> None:
    with pytest.raises(DiagnosticError, match=r"DSL0952.*frobnicate") as caught:
        link({"wrong": ".text\n\n    frobnicate v0.4s\n"})
    assert caught.value.diagnostics[0].loc is not None
    assert caught.value.diagnostics[0].loc.line == 3


def test_without_an_assembler_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "nonesuch")
    with pytest.raises(DiagnosticError, match=r"DSL0951"):
        toolchain_identity()


def test_the_variable_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    for assembler in list(assemblers()):
        monkeypatch.setenv(VARIABLE, assembler.name)
        assert find_assembler(assembler.kinds[0]).name == assembler.name


def test_a_library_for_macos() -> None:
    if not any("dylib" in a.kinds for a in assemblers()):
        pytest.skip("ziglang makes libraries for macOS, and is not installed")
    made = link({"a": ADD, "t": TWICE}, "dylib")
    assert made[:4] == bytes.fromhex("cffaedfe")  # MH_MAGIC_64, little endian
    assert b"_twice\0" in made
    assert code_of(made) == code_of(link({"a": ADD, "t": TWICE}))


def test_symbols_and_local_labels_of_macos() -> None:
    text = for_macos(".globl f\n.type f, %function\nf: bl f // f\n.L1: b .L1\nff: b ff\n")
    assert text == ".globl _f\n\n_f: bl _f // f\nL1: b L1\nff: b ff\n"
