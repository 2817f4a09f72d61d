"""CUDA C to binaries, by NVRTC or nvcc: options, and findings in place of logs.

Contraction of products and sums into FMAs is off: the meaning of a program is that of its instructions,
each rounded once, and the interpreter and every machine agree on it. Where a program says `fma`, or
multiplies matrices, FMAs are emitted by name, and the mathematical functions have theirs within.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from dslc.codegen.cuda.tools.nvcc import compile_with_nvcc, nvcc_identity
from dslc.codegen.cuda.tools.nvrtc import Compilation, load_nvrtc
from dslc.codegen.cuda.tools.resources import Resources, parse_resources
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc, error
from dslc.compiler.targets.target import chip_of

_FINDING = re.compile(
    r"^(?P<file>[^\s(]+)\((?P<line>\d+)\): (?:catastrophic )?error:? (?P<text>.*)"
)
_ASSEMBLER = re.compile(r"^ptxas (?:fatal|error)\s*:\s*(?P<text>.*)")
_MOST_FINDINGS = 10
_HINT = "this is a defect of the generator: `dslc build --emit cu` shows the text"


@dataclass(frozen=True, slots=True)
class Options:
    """How CUDA C is compiled.

    `line_info` lets profilers show the emitted lines, `source_lines` those of the source instead, by
    `#line`. `registers` limits those of a thread. `fmad` allows contraction, which changes results in
    the last place. With `trap_waits` a wait at a barrier that does not end stops the kernel.
    """

    compiler: Literal["nvrtc", "nvcc"] = "nvrtc"
    line_info: bool = False
    fmad: bool = False
    registers: int | None = None
    source_lines: bool = False
    trap_waits: bool = False

    def flags(self, architecture: str) -> tuple[str, ...]:
        """The options as both compilers take them, without the one that asks for the report."""
        flags = [f"--gpu-architecture={architecture}", "--std=c++17", f"--fmad={self.fmad}".lower()]
        if self.line_info or self.source_lines:
            flags.append("--generate-line-info")
        if self.registers is not None:
            flags.append(f"--maxrregcount={self.registers}")
        return tuple(flags)


@dataclass(frozen=True, slots=True)
class Binary:
    """Machine code for one architecture, and what each kernel of it takes."""

    architecture: str
    cubin: bytes
    resources: dict[str, Resources]


DEFAULT = Options()
KEEP = "--define-macro=KEEP_REGISTERS"  # for texts whose machine code has calls, see `kept`


def architecture_of(target: str) -> str:
    """`sm_90a` of `cuda:sm_90a`."""
    return chip_of(target)


def toolchain_identity(options: Options = DEFAULT) -> str:
    """What the bytes of a binary depend on beyond its source, for a cache key. DSL0951 without it."""
    identity = nvcc_identity() if options.compiler == "nvcc" else load_nvrtc().identity
    return f"{identity} {options}"


def compile_cubin(
    source: str, architecture: str, options: Options = DEFAULT, name: str = "kernel.cu"
) -> Binary:
    """Machine code for `sm_80`, `sm_90a`, ...; neither a GPU nor a driver is asked.

    DSL0951 without a compiler, DSL0952 where the text does not compile, DSL0953 where the compiler
    does not know the architecture.
    """
    flags = (*options.flags(architecture), "--ptxas-options=-v")
    done = _compiled(source, name, flags, options)
    if done.succeeded and "keep_registers<" in source and _has_calls(done.cubin):
        done = _compiled(source, name, (*flags, KEEP), options)
    _check(done, source, name, architecture)
    return Binary(architecture, done.cubin, parse_resources(done.log))


def _compiled(source: str, name: str, flags: tuple[str, ...], options: Options) -> Compilation:
    if options.compiler == "nvcc":
        return compile_with_nvcc(source, name, flags, ptx=False)
    return load_nvrtc().compile(source, name, flags)


def _has_calls(cubin: bytes) -> bool:
    """Whether functions stand in the machine code beside its kernels: slow paths, and CUDA's own."""
    return any(name in cubin for name in (b"$__internal_", b"vprintf", b"__assertfail"))


def compile_ptx(
    source: str, architecture: str, options: Options = DEFAULT, name: str = "kernel.cu"
) -> str:
    """PTX text; the errors of `compile_cubin`."""
    flags = options.flags(architecture.replace("sm_", "compute_"))
    if options.compiler == "nvcc":
        done = compile_with_nvcc(source, name, flags, ptx=True)
    else:
        done = load_nvrtc().compile(source, name, flags)
    _check(done, source, name, architecture)
    return done.ptx


def _check(done: Compilation, source: str, name: str, architecture: str) -> None:
    if done.succeeded:
        return
    if done.options_refused:
        first = done.log.strip().splitlines() or ["it gave no reason"]
        text = f"the CUDA compiler cannot compile for {architecture}: {first[0]}"
        raise error("DSL0953", text, hint="a newer nvidia-cuda-nvrtc knows newer GPUs")
    raise DiagnosticError(_findings(done.log, source.splitlines(), name)[:_MOST_FINDINGS])


def _findings(log: str, lines: list[str], name: str) -> list[Diagnostic]:
    """The compiler's errors with the emitted line; all of the log where none is recognised."""
    diagnostics = []
    for line in log.splitlines():
        if match := _FINDING.match(line):
            number = int(match["line"])
            emitted = lines[number - 1].strip() if 0 < number <= len(lines) else ""
            message = f"the emitted CUDA does not compile: {match['text']}: `{emitted}`"
            diagnostics.append(Diagnostic("DSL0952", message, Loc(name, number, 1), _HINT))
        elif match := _ASSEMBLER.match(line):
            diagnostics.append(Diagnostic("DSL0952", f"the assembler refuses it: {match['text']}"))
    message = f"the emitted CUDA does not compile: {log.strip() or 'no reason was given'}"
    return diagnostics or [Diagnostic("DSL0952", message, hint=_HINT)]
