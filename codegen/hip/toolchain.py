"""HIP C++ to ISA text and code objects: options, and findings in place of logs.

Contraction of products and sums into FMAs is off in the texts themselves: the meaning of a program is
that of its instructions, each rounded once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dslc.codegen.hip.compilers import VARIABLE, Compiler, compilers
from dslc.codegen.hip.resources import Resources, parse_resources
from dslc.codegen.tools import Command, run
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc, error
from dslc.compiler.scratch import scratch_folder

_FINDING = re.compile(
    r"^(?P<file>[^\s:]+):(?P<line>\d+):\d+: (?:fatal )?error: (?P<text>.*)", re.MULTILINE
)
_MOST_FINDINGS = 10
_HINT = "this is a defect of the generator: `dslc build --emit hip` shows the text"
_UNKNOWN_CHIP = re.compile(
    r"(?:unsupported HIP gpu architecture|unknown target CPU|invalid target)"
)


@dataclass(frozen=True, slots=True)
class Options:
    """How HIP C++ is compiled: `line_info` lets debuggers and profilers show the emitted lines."""

    line_info: bool = False

    def flags(self, chip: str) -> Command:
        """For a clang; atomics on floats may use the instructions that device memory has for them."""
        own = ("-gline-tables-only",) if self.line_info else ()
        return (
            "-x", "hip", f"--offload-arch={chip}", "--offload-device-only", "-nogpuinc", "-nogpulib",
            "-std=c++17", "-O3", "-fuse-cuid=none", "-munsafe-fp-atomics", *own,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Binary:
    """ISA text and a code object for one chip, and what each kernel of it takes."""

    chip: str
    isa: str
    hsaco: bytes
    resources: dict[str, Resources]


DEFAULT = Options()


def find_compiler() -> Compiler:
    """The preferred one; DSL0951 without any."""
    compiler = next(compilers(), None)
    if compiler is None:
        raise error(
            "DSL0951",
            "there is no compiler for AMD GPUs",
            hint=f"pip install 'dslc[hip]'; {VARIABLE}=zig, rocm or clang asks for one of them",
        )
    return compiler


def toolchain_identity(options: Options = DEFAULT) -> str:
    """What the bytes of a binary depend on beyond its source, for a cache key. DSL0951 without it."""
    return f"{find_compiler().identity} {options}"


def compile_hip(
    source: str, chip: str, options: Options = DEFAULT, name: str = "kernel.hip"
) -> Binary:
    """Machine code for `gfx942` or `gfx950`; neither a GPU nor ROCm is asked.

    DSL0951 without a compiler, DSL0952 where the text does not compile, DSL0953 where the compiler
    does not know the chip.
    """
    isa, hsaco = _compiled(source, chip, options, name, ("out.s", "out.hsaco"))
    text = isa.decode()
    return Binary(chip, text, hsaco, parse_resources(text))


def compile_isa(
    source: str, chip: str, options: Options = DEFAULT, name: str = "kernel.hip"
) -> str:
    """The ISA text alone, as `compile_hip` gives it, which then is not assembled."""
    return _compiled(source, chip, options, name, ("out.s",))[0].decode()


def _compiled(
    source: str, chip: str, options: Options, name: str, wanted: tuple[str, ...]
) -> list[bytes]:
    """The files of these names; no command runs after the one that makes the last."""
    tool = find_compiler()
    target = ("--target=amdgcn-amd-amdhsa", f"-mcpu={chip}")
    commands = (
        (*tool.clang, *options.flags(chip), "-S", name, "-o", "out.s"),
        (*tool.clang, "-x", "assembler", *target, "-c", "out.s", "-o", "out.o"),
        (*tool.linker, "-shared", "out.o", "-o", "out.hsaco"),
    )
    with scratch_folder("hip") as folder:
        Path(folder, name).write_text(source, encoding="utf-8")
        for command in commands:
            done = run(command, folder)
            if done.returncode:
                _refuse(done.stderr + done.stdout, source, name, chip)
            if command[-1] == wanted[-1]:
                break
        return [Path(folder, file).read_bytes() for file in wanted]


def _refuse(log: str, source: str, name: str, chip: str) -> None:
    if _UNKNOWN_CHIP.search(log):
        text = f"the compiler does not know {chip}"
        raise error("DSL0953", text, hint="clang knows gfx942 from version 17, gfx950 from 20 on")
    diagnostics = []
    lines = source.splitlines()
    for match in _FINDING.finditer(log):
        if (
            match["file"] != name
        ):  # inline assembly is refused where the compiler's own text is read
            continue
        number = int(match["line"])
        emitted = lines[number - 1].strip() if 0 < number <= len(lines) else ""
        message = f"the emitted HIP does not compile: {match['text']}: `{emitted}`"
        diagnostics.append(Diagnostic("DSL0952", message, Loc(name, number, 1), _HINT))
    message = f"the emitted HIP does not compile: {log.strip() or 'no reason was given'}"
    raise DiagnosticError(
        diagnostics[:_MOST_FINDINGS] or [Diagnostic("DSL0952", message, hint=_HINT)]
    )
