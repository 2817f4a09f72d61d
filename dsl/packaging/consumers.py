"""The parts of a package for programs without dslc: a header, C, libraries, Hugging Face's layout.

include/NAME.h                             the functions, one a kernel
c/NAME_cuda.c, c/NAME_cpu_x86_64.c + .s    they, for whoever builds libraries
lib/x86_64-linux/libNAME_cuda.so           C, ctypes and tvm_ffi.load_module
build/tvm-ffi01-cu130-x86_64-linux/        the same for `kernels.get_local_kernel`
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dslc.codegen.c_interface.compiling import EXTRA, find_compiler
from dslc.codegen.c_interface.forms import Form, Interface
from dslc.codegen.c_interface.module import cpu_source, gpu_source, header
from dslc.codegen.c_interface.packing import functions_of
from dslc.codegen.quoting import docstring, python_name, python_string
from dslc.compiler.artifact import Artifact, Param
from dslc.compiler.diagnostics import error
from dslc.compiler.targets.cpu import Machine as CpuName
from dslc.machines.machine import CInterface
from dslc.machines.registry import machine_class
from dslc.packaging.entries import Entry, by_kernel
from dslc.packaging.spec import PackageTable
from dslc.packaging.writing import artifact_key
from dslc.runtime.package.index import SPECIALIZATIONS

Files = dict[str, bytes]


def consumer_files(package: PackageTable, entries: Sequence[Entry]) -> Files:
    """What the consumers of a specification need, by path.

    DSL0754 and DSL0804 for a kernel that has no C interface, DSL0951 without a C compiler where
    libraries are asked for, DSL0835 where no target can have them.
    """
    if not package.consumers:
        return {}
    files: Files = {}
    images = _images(entries)
    offered = {r: c for e in entries if (c := _called(e)) and (r := _room(e))}
    if not offered:
        text = "only kernels for NVIDIA GPUs and for CPUs have a C interface"
        raise error("DSL0835", text, hint="add such a target, or leave consumers = [...] out")
    described: list[Interface] = []
    for room, called in offered.items():
        interfaces = _interfaces(package.name, [e for e in entries if _room(e) == room], called)
        described += [i for i in interfaces if i.name not in {d.name for d in described}]
        own = _sources(package, room, called, interfaces)
        files |= own
        if {"tvm-ffi", "huggingface"} & {*package.consumers}:
            text = header(package.name, package.version, interfaces)
            inputs = {**own, **images, f"include/{package.name}.h": text.encode()}
            files |= _libraries(package, room, called, inputs, interfaces)
    files[f"include/{package.name}.h"] = header(package.name, package.version, described).encode()
    return files


@dataclass(frozen=True, slots=True)
class _Room:
    """What one C source is for: a family, of CPUs those of one machine."""

    family: str
    machine: CpuName | None

    @property
    def name(self) -> str:
        """How files are called: `cuda`, `aarch64`, `cpu_x86_64`."""
        same = self.machine in (None, self.family)
        return self.family if same else f"{self.family}_{self.machine}"

    def hosts(self, called: CInterface) -> list[str]:
        """The hosts that libraries are made for."""
        own = f"{self.machine}-"
        return [h for h in called.hosts if self.machine is None or h.startswith(own)]


def _called(entry: Entry) -> CInterface | None:
    return machine_class(entry.artifact.target).facts.c_interface


def _room(entry: Entry) -> _Room:
    called, target = _called(entry), entry.artifact.target
    machine = called.machine(target) if called is not None and called.machine is not None else None
    return _Room(target.partition(":")[0], machine)


def toolchain(package: PackageTable) -> dict[str, str]:
    """The C compiler that libraries are made with, under `consumers`, where some are asked for."""
    if not {"tvm-ffi", "huggingface"} & {*package.consumers}:
        return {}
    return {"consumers": find_compiler().identity}


def _sources(
    package: PackageTable, room: _Room, called: CInterface, interfaces: Sequence[Interface]
) -> Files:
    path = f"c/{package.name}_{room.name}"
    if room.machine is None:
        text = gpu_source(package.name, package.version, interfaces)
        return {f"{path}.c": text.encode()}
    text, assembly = cpu_source(package.name, package.version, interfaces, room.machine)
    return {f"{path}.c": text.encode(), **{f"c/{n}": t.encode() for n, t in assembly.items()}}


def _libraries(
    package: PackageTable,
    room: _Room,
    called: CInterface,
    inputs: Mapping[str, bytes],
    interfaces: Sequence[Interface],
) -> Files:
    """The shared libraries, and Hugging Face's folders with them; hosts that cannot be had are left."""
    files: Files = {}
    compiler = find_compiler()
    sources = [p for p in inputs if p.startswith("c/")]
    wanted = room.hosts(called)
    hosts = [h for h in wanted if h in compiler.hosts]
    if not hosts:
        raise error(
            "DSL0951",
            f"{compiler.identity} makes no libraries for {', '.join(wanted)}",
            hint=f"pip install 'dslc[{EXTRA}]' brings a compiler that does",
        )
    for host in hosts:
        library = compiler.library(inputs, sources, host)
        name = f"lib{package.name}_{room.name}.so"
        files[f"lib/{host}/{name}"] = library
        if "huggingface" in package.consumers:
            files |= _hugging_face(package, called, host, name, library, interfaces)
    return files


_INIT = """from pathlib import Path as _Path

import tvm_ffi as _tvm_ffi

_module = _tvm_ffi.load_module(str(_Path(__file__).with_name("{library}")))
{functions}
__all__ = {names}
"""


_OWN = ("_Path", "_tvm_ffi", "_module")


def _hugging_face(
    package: PackageTable,
    called: CInterface,
    host: str,
    library: str,
    content: bytes,
    interfaces: Sequence[Interface],
) -> Files:
    """A build variant of `kernels`: Python that loads the library, and its metadata."""
    names = [name for i in interfaces for name in functions_of(i)]
    folder = f"build/tvm-ffi01-{called.word()}-{host}"
    own = {n: python_name(n, _OWN) for n in names}
    functions = "".join(f"{own[n]} = _module[{python_string(n)}]\n" for n in names)
    kernels = ", ".join(i.name for i in interfaces)
    title = f"{package.name} {package.version}: {kernels}. Outputs are written in place."
    text = docstring(title) + "\n"
    text += _INIT.format(library=library, functions=functions, names=[*own.values()])
    metadata: dict[str, Any] = {
        "id": f"_{package.name}_{called.backend}",
        "name": package.name.replace("_", "-"),
        "version": int(package.version.partition(".")[0]),
        "license": package.license,
        "python-depends": [],
        "backend": {"type": called.backend},
    }
    return {
        f"{folder}/__init__.py": text.encode(),
        f"{folder}/{library}": content,
        f"{folder}/metadata.json": (json.dumps(metadata, indent=1) + "\n").encode(),
    }


def _interfaces(package: str, entries: Sequence[Entry], called: CInterface) -> list[Interface]:
    prepared = called.assembled or (lambda artifact: artifact)
    interfaces = []
    for kernel, own in by_kernel(entries).values():
        params = tuple(Param(p.name, p.dtype, p.mode, p.dims) for p in kernel.parameters)
        forms = tuple(Form(prepared(e.artifact), e.sizes, _paths(e.artifact)) for e in own)
        symbol = f"{package}_{kernel.name}"
        interface = Interface(kernel.name, symbol, kernel.doc, params, kernel.dims, forms)
        interfaces.append(_with_stored_types(interface))
    return interfaces


def _with_stored_types(interface: Interface) -> Interface:
    """With parameters that some form packs as bytes in the header too."""
    stored = {p.name for f in interface.forms for p in f.params if p.packed is not None}
    params = tuple(
        dataclasses.replace(p, dtype="u8") if p.name in stored else p for p in interface.params
    )
    return dataclasses.replace(interface, params=params)


def _paths(artifact: Artifact) -> tuple[str, ...]:
    """Where the machine code of each kernel lies in the package."""
    called = machine_class(artifact.target).facts.c_interface
    if called is None or not called.image:
        return ()
    file = f"{artifact.target.partition(':')[2]}.{called.image}"
    folder = f"{SPECIALIZATIONS}/{artifact_key(artifact)}"
    if artifact.kind == "kernel":
        return (f"{folder}/{file}",)
    return tuple(f"{folder}/{i}.{file}" for i in range(len(artifact.launch["kernels"])))


def _images(entries: Sequence[Entry]) -> Files:
    return {
        f"{SPECIALIZATIONS}/{artifact_key(e.artifact)}/{n}": content
        for e in entries
        for n, content in e.artifact.files.items()
        if (called := machine_class(e.artifact.target).facts.c_interface) is not None
        and called.image
        and n.endswith(f".{called.image}")
    }
