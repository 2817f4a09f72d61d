"""What tests of AArch64 need: an assembler and QEMU, or a skip that says which is missing."""

from __future__ import annotations

import functools
from importlib.resources import files

import pytest
from dslc.codegen.aarch64.tools.assemblers import Kind, assemblers
from dslc.codegen.aarch64.tools.toolchain import link
from dslc.runtime.aarch64_emulator import qemu_path


def needs_assembler() -> None:
    """Skip without one."""
    if not any("library" in a.kinds for a in assemblers()):
        pytest.skip("there is no assembler for AArch64 (pip install ziglang)")


def needs_emulator() -> None:
    """Skip without an assembler and QEMU."""
    needs_assembler()
    if qemu_path() is None:
        pytest.skip("there is no qemu-aarch64 (apt install qemu-user)")


@functools.cache
def guest_program() -> bytes:
    """The emulator's guest."""
    text = files("dslc.runtime.aarch64_emulator").joinpath("guest.s").read_text(encoding="utf-8")
    return link({"guest": text}, "program")


def assemble(text: str, kind: Kind = "library") -> bytes:
    """A library of one text."""
    return link({"test": text}, kind)


def function(name: str, body: str, arch: str = "armv8-a") -> str:
    """The text of one global function."""
    return f"""
    .arch {arch}
    .text
    .p2align 4
    .globl {name}
    .type {name}, %function
{name}:
{body}
    .size {name}, . - {name}
"""
