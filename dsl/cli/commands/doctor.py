"""`dslc doctor`: what is installed, what is missing, and how to get it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import dslc
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, session_options

_EXAMPLES = """
dslc doctor
dslc doctor | grep missing
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: `state` is ok, missing (needed) or absent (optional)."""

    subject: str
    state: str
    detail: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that some target calls: any one of `names` serves."""

    names: tuple[str, ...]
    purpose: str
    remedy: str


TOOLS = (
    Tool(
        ("aarch64-linux-gnu-as",),
        "aarch64: the quick assembler; ziglang has another",
        "apt install binutils-aarch64-linux-gnu",
    ),
    Tool(
        ("qemu-aarch64", "qemu-aarch64-static"), "aarch64: runs elsewhere", "apt install qemu-user"
    ),
    Tool(("llvm-mca-22", "llvm-mca-19"), "aarch64: cycle estimates", "apt install llvm-22"),
    Tool(("nvcc",), "cuda: an alternative to NVRTC", "pip install 'dslc[cuda]'"),
    Tool(("neuronx-cc",), "nki: building for Trainium", "the Neuron SDK"),
    Tool(("aiecc", "aiecc.py"), "aie: building for NPUs", "the mlir-aie wheels"),
)

_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@click.command("doctor", cls=Documented, examples=_EXAMPLES)
@session_options
def command() -> int:
    """Check the installation: Python, packages, extras, compilers in PATH and the cache.

    What is only optional is listed as absent, with the way to get it. The exit code is 3 where
    something is missing that dslc cannot do without, else 0.
    """
    from dslc.cli.tables.table import print_table

    findings = [*_python(), *_packages(), *_cpu(), *_tools(), *_cuda(), *_hip()]
    findings += [*_npu(), *_arm(), *_cache()]
    print_table(
        ("", "what", "found or how to get it"), [(f.state, f.subject, f.detail) for f in findings]
    )
    missing = any(f.state == "missing" for f in findings)
    return ExitCode.TOOLCHAIN if missing else ExitCode.OK


def _python() -> Iterator[Finding]:
    place = str(Path(dslc.__file__).resolve().parent)
    yield Finding("dslc", "ok", f"{dslc.__version__} at {place}")
    right = sys.version_info >= (3, 11)
    detail = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield Finding(
        "Python", "ok" if right else "missing", detail if right else f"{detail}; 3.11 or later"
    )


def _packages() -> Iterator[Finding]:
    """The distribution's own requirements, the needed ones first, then those of each extra."""
    try:
        wanted = importlib.metadata.requires("dslc") or []
    except importlib.metadata.PackageNotFoundError:
        yield Finding(
            "packages", "absent", "dslc runs from its sources: requirements are not known"
        )
        wanted = []
    extras: dict[str, list[str]] = {}
    for requirement in wanted:
        match = _NAME.match(requirement)
        assert match is not None, requirement
        extra = _EXTRA.search(requirement)
        extras.setdefault(extra[1] if extra else "", []).append(match[0])
    for name in extras.pop("", []):
        version = _version(name)
        yield Finding(name, "ok" if version else "missing", version or f"pip install {name}")
    for extra_name, names in extras.items():
        if extra_name in ("all", "dev"):
            continue
        absent = [n for n in names if _version(n) is None]
        versions = ", ".join(f"{n} {_version(n)}" for n in names)
        remedy = f"pip install 'dslc[{extra_name}]'  ({', '.join(absent)})"
        yield Finding(
            f"extra {extra_name}", "absent" if absent else "ok", remedy if absent else versions
        )


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _tools() -> Iterator[Finding]:
    for tool in TOOLS:
        path_of = next((path for n in tool.names if (path := shutil.which(n))), None)
        state, detail = ("ok", path_of) if path_of else ("absent", tool.remedy)
        yield Finding(tool.names[0], state, f"{detail}  ({tool.purpose})")


def _cuda() -> Iterator[Finding]:
    """CUDA's compiler, its disassembler, and the GPU; each may come from a package."""
    from dslc.codegen.cuda.tools.locate import find_library, find_tool
    from dslc.compiler.diagnostics import DiagnosticError
    from dslc.runtime.cuda import CudaDevice

    for name, path, remedy, purpose in (
        ("NVRTC", find_library("nvrtc"), "pip install 'dslc[cuda]'", "building"),
        ("nvdisasm", find_tool("nvdisasm"), "pip install nvidia-cuda-nvdisasm", "reading SASS"),
    ):
        state = "ok" if path else "absent"
        yield Finding(name, state, f"{path or remedy}  (cuda: {purpose})")
    try:
        yield Finding("GPU", "ok", f"{CudaDevice.get(0)}")
    except DiagnosticError as missing:
        yield Finding("GPU", "absent", f"{missing.diagnostics[0].message}  (cuda: running)")


def _hip() -> Iterator[Finding]:
    """The compiler for AMD GPUs, and what its emulator is built with."""
    from dslc.codegen.flydsl.toolchain import is_installed
    from dslc.codegen.hip.compilers import compilers
    from dslc.runtime.hip_emulator import compiler

    first = next(compilers(), None)
    state = "absent" if first is None else "ok"
    detail = "pip install 'dslc[hip]'" if first is None else first.identity
    yield Finding("HIP compiler", state, f"{detail}  (hip: building)")
    host = compiler()
    detail = "apt install gcc" if host is None else " ".join(host)
    yield Finding("C compiler", "absent" if host is None else "ok", f"{detail}  (hip: running)")
    state, detail = ("ok", "") if is_installed() else ("absent", "pip install 'dslc[flydsl]'  ")
    yield Finding("FlyDSL", state, f"{detail}(hip: compiling what --emit flydsl prints)")


def _npu() -> Iterator[Finding]:
    """The NPU by XRT; the simulator needs neither."""
    from dslc.compiler.diagnostics import DiagnosticError
    from dslc.runtime.aie.xrt import NpuDevice

    try:
        yield Finding("NPU", "ok", f"{NpuDevice.get().name}  (aie: running, by DSLC_NPU=xrt)")
    except DiagnosticError as missing:
        yield Finding("NPU", "absent", f"{missing.diagnostics[0].message}  (aie: running)")


def _arm() -> Iterator[Finding]:
    """What assembles for Arm CPUs, and which kernels the one that is here runs."""
    from dslc.codegen.aarch64.tools.toolchain import find_assembler
    from dslc.compiler.diagnostics import DiagnosticError
    from dslc.runtime.aarch64 import VARIANTS, best_variant, is_host
    from dslc.runtime.native import host_features

    try:
        yield Finding("assembler", "ok", f"{find_assembler().identity}  (aarch64: building)")
    except DiagnosticError:
        yield Finding("assembler", "absent", "pip install 'dslc[aarch64]'  (aarch64: building)")
    if is_host():
        features = host_features()
        variant = f"{', '.join(sorted(features))}: aarch64:{best_variant(VARIANTS, features)}"
        yield Finding("Arm CPU", "ok", f"{variant}  (aarch64: running)")


def _cpu() -> Iterator[Finding]:
    """Which kernels this CPU runs, on how many threads, and how quickly they are called."""
    from dslc.compiler.diagnostics import DiagnosticError
    from dslc.machines.cpu_processors import present_target
    from dslc.machines.registry import fastest_target
    from dslc.runtime.native.host import extension
    from dslc.runtime.native.pool import VARIABLE, thread_count

    try:
        threads = f"{thread_count()} threads, {VARIABLE} sets another number"
        yield Finding("CPU", "ok", f"{present_target()}: {threads}")
    except DiagnosticError as missing:
        yield Finding("CPU", "absent", missing.diagnostics[0].message)
    quick = "in C, without Python between a kernel's turns"
    slow = "in Python, some 30 us: a C compiler, and pip install --force-reinstall dslc"
    built = extension() is not None
    yield Finding("calls on the CPU", "ok" if built else "absent", quick if built else slow)
    try:
        yield Finding("default target", "ok", f"{fastest_target()}, the fastest machine here")
    except DiagnosticError:
        yield Finding("default target", "absent", "none: --target interp runs every kernel")


def _cache() -> Iterator[Finding]:
    from dslc.cli.commands.cache import health

    yield Finding("cache", *health())
