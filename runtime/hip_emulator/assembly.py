"""The ISA text of clang for amdgcn, read: kernels, their instructions and descriptors, constants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from dslc.runtime.hip_emulator.data import Data
from dslc.runtime.hip_emulator.errors import EmulationError
from dslc.runtime.hip_emulator.metadata import Metadata, kernels_of
from dslc.runtime.hip_emulator.operands import Operand, read_operands

_LABEL = re.compile(r"([.\w$]+):")
_LOC = re.compile(r"(\d+) (\d+) (\d+)")
_FILE = re.compile(r'(\d+) (?:"[^"]*" )?"([^"]*)"')
_TARGET = re.compile(r"gfx\w+")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One line: `modifiers` are those without a value (True) and `name:value`."""

    mnemonic: str
    operands: tuple[Operand, ...]
    modifiers: Mapping[str, str]
    line: int
    text: str
    source: str | None


@dataclass(slots=True)
class Kernel:
    """A kernel: its code, the instruction that each label stands before, and what it needs."""

    name: str
    code: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    descriptor: dict[str, str] = field(default_factory=dict)
    metadata: Metadata | None = None


@dataclass(slots=True)
class Assembly:
    """A text: its chip, such as gfx942, kernels by name, and objects in memory by label."""

    chip: str
    kernels: dict[str, Kernel]
    data: Data


def read_assembly(text: str) -> Assembly:
    """Read a text; EmulationError names the line that it cannot read."""
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), 1):
        reader.read(number, line)
    for metadata in kernels_of("\n".join(reader.notes)):
        if metadata.name in reader.kernels:
            reader.kernels[metadata.name].metadata = metadata
    if reader.chip is None:
        raise EmulationError("the text names no target, as .amdgcn_target does")
    return Assembly(reader.chip, reader.kernels, reader.data)


class _Reader:
    def __init__(self) -> None:
        self.chip: str | None = None
        self.kernels: dict[str, Kernel] = {}
        self.data = Data()
        self.notes: list[str] = []
        self._functions: dict[str, Kernel] = {}
        self._files: dict[str, str] = {}
        self._source: str | None = None
        self._code: Kernel | None = None
        self._descriptor: dict[str, str] | None = None
        self._within_notes = False
        self._text_section = True

    def read(self, number: int, line: str) -> None:
        if self._within_notes:
            self._within_notes = ".end_amdgpu_metadata" not in line
            if self._within_notes:
                self.notes.append(line)
            return
        words = _without_comment(line).strip()
        if match := _LABEL.match(words):
            self._label(match[1])
            words = words[match.end() :].strip()
        if not words:
            return
        if words.startswith("."):
            name, *rest = words.split(maxsplit=1)
            self._directive(name, rest[0] if rest else "")
        elif self._code is not None and self._text_section:
            self._instruction(number, words)

    def _label(self, name: str) -> None:
        if not self._text_section:
            self.data.label(name)
        elif name in self._functions:
            self._code = self._functions[name]
        elif self._code is not None:
            self._code.labels[name] = len(self._code.code)

    def _instruction(self, number: int, words: str) -> None:
        assert self._code is not None
        mnemonic, _, rest = words.replace("\t", " ").partition(" ")
        try:
            operands, modifiers = read_operands(mnemonic, rest.strip())
        except ValueError as failure:
            raise EmulationError(f"line {number}: {words}: {failure}") from None
        text = " ".join(words.split())
        self._code.code.append(
            Instruction(mnemonic, operands, modifiers, number, text, self._source)
        )

    def _directive(self, name: str, rest: str) -> None:
        if self._descriptor is not None:
            if name == ".end_amdhsa_kernel":
                self._descriptor = None
            else:
                self._descriptor[name.removeprefix(".amdhsa_")] = rest
            return
        match name:
            case ".amdgcn_target":
                match = _TARGET.search(rest)
                self.chip = match[0] if match else None
            case ".amdhsa_kernel":
                self.kernels[rest] = self._functions[rest]
                self._descriptor = self.kernels[rest].descriptor
            case ".type":
                symbol, _, kind = rest.partition(",")
                if kind.strip() == "@function":
                    self._functions[symbol.strip()] = Kernel(symbol.strip())
            case ".amdgpu_metadata":
                self._within_notes = True
            case ".file":
                if match := _FILE.match(rest):
                    self._files[match[1]] = match[2].rpartition("/")[2]
            case ".loc":
                if match := _LOC.match(rest):
                    file = self._files.get(match[1], "?")
                    self._source = f"{file}:{match[2]}:{match[3]}" if match[2] != "0" else None
            case ".text":
                self._text_section = True
            case ".section":
                self._text_section = rest.startswith(".text")
                self.data.section(rest)
            case ".bss" | ".data":
                self._text_section = False
                self.data.section(name)
            case ".size":
                if self._code is not None and rest.startswith(self._code.name + ","):
                    self._code, self._source = None, None
            case _:
                if not self._text_section:
                    self.data.directive(name, rest)


def _without_comment(line: str) -> str:
    """The line up to `;` or `//`, outside of strings."""
    if '"' in line:
        at, quoted = 0, False
        while at < len(line):
            if line[at] == '"' and (at == 0 or line[at - 1] != "\\"):
                quoted = not quoted
            elif not quoted and (line[at] == ";" or line.startswith("//", at)):
                return line[:at]
            at += 1
        return line
    return line.partition(";")[0].partition("//")[0]
