"""The specification of a package: kernels, targets and specialisations, in TOML.

    [package]
    name = "llm_kernels"
    version = "1.2.0"
    targets = ["cuda:sm_80", "cuda:sm_90a", "aarch64:all"]
    ptx = "cuda:sm_80"

    [[kernel]]
    source = "gemm_quantized.tile"
    kernel = "gemm_quantized"
    name = "w4a16"
    define = { W = "u4" }
    dims = { N = [4096, 11008], K = 4096 }
    sizes = { M = [1, 16, 4096] }

Where `dims`, `sizes` and `set` have lists, every combination is compiled.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias, TypeVar

import msgspec
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.machines.registry import machine_class

Scalar: TypeAlias = int | float | bool | str
T = TypeVar("T")

_LARGEST = 1 << 22  # bytes
_MOST = 20_000  # specialisations
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*([abr.+-][A-Za-z0-9.+-]*)?\Z")

Consumer: TypeAlias = Literal["c", "tvm-ffi", "huggingface"]


class PackageTable(msgspec.Struct, forbid_unknown_fields=True):
    """`[package]`: targets are those of kernels that name none; `ptx` is the one with a fallback.

    `license` is an SPDX expression, which Hugging Face's metadata take.
    """

    name: str
    targets: list[str]
    version: str = "0.0.0"
    license: str = ""
    ptx: str | None = None
    consumers: list[Consumer] = []
    include: list[str] = []


class KernelTable(msgspec.Struct, forbid_unknown_fields=True):
    """`[[kernel]]`: of a source all its own kernels, or the one that is named.

    `dims` are compiled in; `sizes` are those that choices are made for, and nothing more is assumed of
    them; `set` gives choices. `unaligned` adds kernels for GPU tensors that begin anywhere.
    """

    source: str
    kernel: str | None = None
    name: str | None = None
    targets: list[str] | None = None
    define: dict[str, Scalar] = {}
    dims: dict[str, int | list[int]] = {}
    sizes: dict[str, int | list[int]] = {}
    set: dict[str, int | str | list[int | str]] = {}
    unaligned: bool = False


class Spec(msgspec.Struct, forbid_unknown_fields=True):
    """A whole specification."""

    package: PackageTable
    kernel: list[KernelTable]


class Wanted(msgspec.Struct, frozen=True):
    """One specialisation of one kernel for one target."""

    source: str
    kernel: str
    name: str
    target: str
    define: Mapping[str, Scalar]
    dims: Mapping[str, int]
    sizes: Mapping[str, int]
    config: Mapping[str, int | str]
    unaligned: bool
    ptx: bool


def read_spec(path: Path) -> Spec:
    """The specification in a file; DSL0917 says what is wrong with it."""
    spec = decode_spec(path)
    check_spec(path, spec)
    return spec


def decode_spec(path: Path) -> Spec:
    """What a file says, its tables and types right but no more: `check_spec` takes longer."""
    try:
        with path.open("rb") as file:
            spec = msgspec.toml.decode(file.read(_LARGEST), type=Spec)
    except OSError as failure:
        raise error("DSL0917", f"{path} cannot be read: {failure.strerror or failure}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as failure:
        raise _wrong(path, str(failure)) from None
    return spec


def check_spec(path: Path, spec: Spec) -> None:
    """DSL0917 where names, paths, values or targets of the specification in a file are wrong."""
    for problem in _problems(spec):
        raise _wrong(path, problem)


def is_version(text: str) -> bool:
    """Whether a text is a version such as 1.2.0."""
    return _VERSION.match(text) is not None


def wanted(spec: Spec, own_kernels: Mapping[str, list[str]]) -> list[Wanted]:
    """Every specialisation in order; `own_kernels` gives the kernels that a source defines."""
    listed: list[Wanted] = []
    for table in spec.kernel:
        names = [table.kernel] if table.kernel else own_kernels[table.source]
        for target, kernel in itertools.product(table.targets or spec.package.targets, names):
            listed += _of_kernel(table, kernel, target, spec.package.ptx == target)
    if len(listed) > _MOST:
        raise error("DSL0917", f"{len(listed)} specialisations are more than {_MOST}")
    return listed


def fewest(spec: Spec) -> int:
    """How many specialisations it asks for at least: sources that are not read yet have one kernel."""
    return len(wanted(spec, {k.source: [""] for k in spec.kernel}))


def _of_kernel(table: KernelTable, kernel: str, target: str, ptx: bool) -> Iterator[Wanted]:
    loose = (
        (False, True)
        if table.unaligned and machine_class(target).facts.unaligned_forms
        else (False,)
    )
    every = itertools.product(
        _combinations(table.dims), _combinations(table.sizes), _choices(table.set)
    )
    for dims, sizes, config in every:
        for unaligned in loose:
            yield Wanted(
                table.source, kernel, table.name or kernel, target, table.define, dims, sizes,
                config, unaligned, ptx,
            )  # fmt: skip


def _combinations(table: Mapping[str, T | list[T]]) -> list[dict[str, T]]:
    """`{"N": [1, 2], "K": 3}` as every choice of one value each."""
    lists = [v if isinstance(v, list) else [v] for v in table.values()]
    return [dict(zip(table, chosen, strict=True)) for chosen in itertools.product(*lists)]


def _choices(table: Mapping[str, int | str | list[int | str]]) -> list[dict[str, int | str]]:
    return _combinations({n: v if isinstance(v, list) else [v] for n, v in table.items()})


def _problems(spec: Spec) -> Iterator[str]:
    if not spec.kernel:
        yield "it has no [[kernel]]"
    for name in [spec.package.name, *(k.name for k in spec.kernel if k.name is not None)]:
        if not name.isidentifier() or not name.isascii():
            yield f"{name!r} is no name: letters, digits and underscores, not a digit first"
    if not is_version(spec.package.version):
        yield f"{spec.package.version!r} is no version such as 1.2.0"
    if spec.package.ptx is not None and not spec.package.ptx.removeprefix("cuda:sm_").isdigit():
        yield f"ptx = {spec.package.ptx!r} is no plain architecture such as cuda:sm_80"
    for kernel in spec.kernel:
        if kernel.name is not None and kernel.kernel is None:
            yield f"name = {kernel.name!r} needs kernel = ...: which of {kernel.source} it renames"
        for table, values in (("dims", kernel.dims), ("sizes", kernel.sizes), ("set", kernel.set)):
            for key, value in values.items():
                if value == [] or (isinstance(value, list) and len({*value}) < len(value)):
                    yield f"{table}.{key} of {kernel.source} has no values, or one twice"
    for path in [*spec.package.include, *(k.source for k in spec.kernel)]:
        # Paths are part of what is hashed: they have to mean the same on another machine.
        if PurePosixPath(path).is_absolute() or "\\" in path:
            yield f"{path!r} is no path from the specification's folder"
    targets = [t for k in spec.kernel for t in k.targets or spec.package.targets]
    if not targets:
        yield "it has no targets"
    for name in {*targets, *([spec.package.ptx] if spec.package.ptx else [])}:
        yield from _target_problems(name)
    if spec.package.ptx is not None and spec.package.ptx not in targets:
        yield f"ptx = {spec.package.ptx!r} is none of its targets"


def _target_problems(name: str) -> Iterator[str]:
    from dslc.compiler.targets import find_target

    try:
        find_target(name)
    except DiagnosticError as unknown:
        first = unknown.diagnostics[0]
        yield f"{first.message} ({first.hint})" if first.hint else first.message


def _wrong(path: Path, what: str) -> DiagnosticError:
    return error("DSL0917", f"{path}: {what}", hint="dslc package --help shows a specification")
