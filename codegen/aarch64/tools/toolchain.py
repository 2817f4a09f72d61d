"""Assembly text to libraries: one `.so`, `.dylib` or static program of any number of sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from dslc.codegen.aarch64.machine_code.macho import for_macos
from dslc.codegen.aarch64.tools.assemblers import VARIABLE, Assembler, Kind, assemblers
from dslc.codegen.tools import run
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc, error
from dslc.compiler.scratch import scratch_folder

_FINDING = re.compile(
    r"^(?P<file>[^\s:]+\.s):(?P<line>\d+)(?::\d+)?: (?:fatal )?[Ee]rror: (?P<text>.*)", re.MULTILINE
)
_MOST_FINDINGS = 10
_HINT = "this is a defect of the generator: `dslc build --emit asm` shows the text"


def find_assembler(kind: Kind = "library") -> Assembler:
    """The preferred toolchain that makes this kind of file; DSL0951 without one."""
    assembler = next((a for a in assemblers() if kind in a.kinds), None)
    if assembler is None:
        what = "macOS" if kind == "dylib" else "AArch64"
        raise error(
            "DSL0951",
            f"there is no assembler and linker for {what}",
            hint=f"pip install 'dslc[aarch64]'; {VARIABLE}=gnu, zig or clang asks for one of them",
        )
    return assembler


def toolchain_identity(kind: Kind = "library") -> str:
    """What the bytes of a library depend on beyond its source, for a cache key. DSL0951 without it."""
    return find_assembler(kind).identity


def link(
    sources: Mapping[str, str], kind: Kind = "library", assembler: Assembler | None = None
) -> bytes:
    """One file of assembly texts by name; the same texts and toolchain give the same bytes.

    A text is in the dialect of ELF that GNU as and clang share; for macOS it is translated. DSL0951
    without a toolchain, DSL0952 where a text does not assemble.
    """
    tool = assembler or find_assembler(kind)
    texts = {n: for_macos(t) if kind == "dylib" else t for n, t in sources.items()}
    with scratch_folder("aarch64") as folder:
        names = [f"{name}.s" for name in texts]
        for name, text in zip(names, texts.values(), strict=True):
            Path(folder, name).write_text(text, encoding="utf-8")
        for command in tool.commands(names, "out", kind):
            done = run(command, folder)
            if done.returncode:
                raise DiagnosticError(_findings(done.stderr + done.stdout, texts)[:_MOST_FINDINGS])
        return Path(folder, "out").read_bytes()


def _findings(log: str, texts: Mapping[str, str]) -> list[Diagnostic]:
    """The tool's errors with the emitted line; all of the log where none is recognised."""
    diagnostics = []
    for match in _FINDING.finditer(log):
        name, number = match["file"], int(match["line"])
        lines = texts[name.removesuffix(".s")].splitlines() if name[:-2] in texts else []
        emitted = lines[number - 1].strip() if 0 < number <= len(lines) else ""
        message = f"the emitted assembly does not assemble: {match['text']}: `{emitted}`"
        diagnostics.append(Diagnostic("DSL0952", message, Loc(name, number, 1), _HINT))
    message = f"the emitted assembly is refused: {log.strip() or 'no reason was given'}"
    return diagnostics or [Diagnostic("DSL0952", message, hint=_HINT)]
