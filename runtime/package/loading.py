"""`dslc.runtime.load`: a package's kernels, checked and ready to be called."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
from dslc.compiler.diagnostics import DiagnosticError, did_you_mean, error
from dslc.runtime import packing
from dslc.runtime.buffers import as_array, import_array
from dslc.runtime.expression import evaluate
from dslc.runtime.extents import dim_of
from dslc.runtime.package.choosing import fitting, nearest, nothing_fits
from dslc.runtime.package.folder import PackageFolder
from dslc.runtime.package.freshness import check_version
from dslc.runtime.package.index import IndexedKernel, IndexedParameter, IndexedSpecialization
from dslc.runtime.package.lock import check_lock
from dslc.runtime.package.matching import Call, choices, match, shape_dims
from dslc.runtime.package.places import (
    Loaded,
    Place,
    cpu_place,
    is_simulated,
    present_places,
    simulator,
)
from dslc.runtime.package.signatures import check_signature

Array = np.ndarray[Any, np.dtype[Any]]
_MOST_CALLS = 4096  # shapes whose specialisation is remembered


class Package(Mapping[str, "PackagedKernel"]):
    """The kernels of a package by name: `package.softmax` or `package["softmax"]`."""

    def __init__(self, folder: PackageFolder, places: Sequence[Place]) -> None:
        self.folder = folder
        self.name, self.version = folder.index.name, folder.index.version
        self.digest = folder.digest
        self._kernels = {k.name: PackagedKernel(k, folder, places) for k in folder.index.kernels}

    def __getitem__(self, name: str) -> PackagedKernel:
        return self._kernels[name]

    def __getattr__(self, name: str) -> PackagedKernel:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._kernels:
            return self._kernels[name]
        known = ", ".join(self._kernels) or "none"
        hint = did_you_mean(name, self._kernels) or f"its kernels are {known}"
        raise _UnknownKernelError(
            error("DSL0744", f"{self.name} has no kernel {name}", hint=hint).diagnostics
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __repr__(self) -> str:
        return f"<dslc package {self.name} {self.version}: {', '.join(self._kernels) or 'empty'}>"


class _UnknownKernelError(DiagnosticError, AttributeError):
    """A package has no kernel of that name."""


class PackagedKernel:
    """A kernel of a package: a call runs the specialisation that fits its arguments best.

    Arguments by position or by name; tune choices and dims by name. Outputs are written in place.
    `stream` is a GPU's, as `dslc.runtime.cuda` takes it.
    """

    def __init__(
        self, kernel: IndexedKernel, folder: PackageFolder, places: Sequence[Place]
    ) -> None:
        self.description = kernel
        self._folder, self._places = folder, places
        self._chosen: dict[tuple[object, ...], Loaded] = {}
        self._loaded: dict[tuple[str, str], Loaded] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.description.name

    def __repr__(self) -> str:
        return f"<dslc packaged kernel {self.name}({', '.join(_shown(self.description))})>"

    def __call__(self, *args: Any, stream: object = None, **named: Any) -> None:
        """Run it. DSL0747 where nothing fits the call, DSL0834 where nothing runs on this machine."""
        call = match(self.description, args, named)
        shapes = {n: tuple(s) for n, a in call.arguments.items() if (s := _shape(a)) is not None}
        loose = _alignments(call.arguments)
        key = (*shapes.items(), *call.config.items(), *call.dims.items(), *loose.items())
        loaded = self._chosen.get(key)
        if loaded is None:
            sizes = {**call.dims, **shape_dims(self.description, shapes)}
            loaded = self._choose(call.config, sizes, loose)
            if len(self._chosen) >= _MOST_CALLS:
                self._chosen.clear()
            self._chosen[key] = loaded
        arguments, dims = self._stored(loaded, call, shapes)
        loaded.launch(arguments, stream, dims)

    def specializations(self) -> tuple[IndexedSpecialization, ...]:
        """All compiled forms, for whatever machine."""
        return self.description.specializations

    def pack(self, param: str, codes: object, **dims_and_tunes: Any) -> Array:
        """Codes of a parameter of at most 8 bits (one a byte) in the storage that is loaded here.

        The dims and choices of the calls that will use it, where they are more than its shape says.
        """
        stored, array = self._packed(param), import_array(codes, param=param)
        config, dims = choices(self.description, dims_and_tunes)
        extents = list(zip(stored.dims or (), array.shape, strict=False))
        told = ((d, dim_of(text, d, size)) for d in self.description.dims for text, size in extents)
        sizes = {**{d: n for d, n in told if n is not None}, **dims}
        storage = self._storage(stored, config, sizes)
        codes = as_array(array, stored.dtype, param=param)
        return np.ascontiguousarray(codes) if storage is None else packing.pack(codes, storage)

    def unpack(self, param: str, packed: object, **dims_and_tunes: Any) -> Array:
        """The inverse of `pack`: codes, one a byte; the dims of the parameter's shape must be given."""
        stored, data = self._packed(param), import_array(packed, param=param)
        config, dims = choices(self.description, dims_and_tunes)
        loaded = self._choose(config, dims, {})
        parameter = next(p for p in loaded.signature.params if p.name == stored.name)
        if parameter.packed is None:
            return data
        values = {**loaded.signature.fixed, **dims}
        return packing.unpack(
            data, parameter.packed, [evaluate(t, values) for t in parameter.dims or ()]
        )

    def _packed(self, param: str) -> IndexedParameter:
        for p in self.description.parameters:
            if p.name == param and p.dims is not None:
                return p
        hint = did_you_mean(param, [p.name for p in self.description.parameters])
        raise error("DSL0755", f"{self.name} has no tensor {param}", hint=hint)

    def _storage(
        self, param: IndexedParameter, config: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> dict[str, Any] | None:
        loaded = self._choose(config, sizes, {})
        return next(p.packed for p in loaded.signature.params if p.name == param.name)

    def _stored(
        self, loaded: Loaded, call: Call, shapes: Mapping[str, Sequence[int]]
    ) -> tuple[dict[str, Any], dict[str, int]]:
        """The arguments with codes of the host packed, and the dims that their shapes told."""
        packed: dict[str, Any] = {}
        for p in loaded.signature.params:
            if p.dims is not None:
                packing.check_storage(p.name, call.arguments[p.name], p.packed)
            if p.packed is None or p.dims is None or p.mode != "in":
                continue
            shape = shapes.get(p.name, ())
            is_codes = len(shape) == len(p.dims) and (p.packed["scheme"] != "row" or len(shape) > 1)
            if is_codes and _on_host(call.arguments[p.name]):
                codes = as_array(call.arguments[p.name], p.dtype, param=p.name)
                packed[p.name] = packing.pack(codes, p.packed)
        if not packed and not call.dims:
            return call.arguments, call.dims
        told = shape_dims(self.description, {n: shapes[n] for n in packed})
        return {**call.arguments, **packed}, {**told, **call.dims}

    def _choose(
        self, config: Mapping[str, Any], sizes: Mapping[str, int], loose: Mapping[str, int]
    ) -> Loaded:
        for place in self._places:
            ranked: dict[tuple[int, ...], list[IndexedSpecialization]] = {}
            for specialization in self.description.specializations:
                if (rank := place.rank(specialization.target, specialization.forms)) is not None:
                    ranked.setdefault(rank, []).append(specialization)
            for rank in sorted(ranked):
                best = nearest(fitting(ranked[rank], config, sizes), sizes, loose)
                if best is not None:
                    return self._load(place, best)
            if ranked:
                listed = [m for rank in sorted(ranked) for m in ranked[rank]]
                raise nothing_fits(self.description, listed, place.name)
        targets = [*dict.fromkeys(m.target for m in self.description.specializations)]
        there = ", ".join(p.name for p in self._places) or "none of these machines"
        simulated = next(filter(is_simulated, targets), None)
        raise error(
            "DSL0834",
            f"{self.name} was compiled for {', '.join(targets) or 'nothing'}; here is {there}",
            hint="add this machine's target to the package's specification"
            + (
                f", or try it: dslc.runtime.load(path, simulate={simulated!r})" if simulated else ""
            ),
        )

    def _load(self, place: Place, made: IndexedSpecialization) -> Loaded:
        key = (place.name, made.key)
        with self._lock:
            if key not in self._loaded:
                self._loaded[key] = place.load(self._folder.artifact(self.description, made))
            return self._loaded[key]


def load(
    path: str | os.PathLike[str],
    *,
    lock: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    signature: str | os.PathLike[str] | None = None,
    digest: str | None = None,
    min_version: str | None = None,
    signed_since: str | date | None = None,
    require_native: bool = False,
    simulate: str | None = None,
    processor: Any = None,
) -> Package:
    """The kernels of a package, once every byte of it has been checked.

    `lock` is a lock file that must name this package's digest, or `digest` says it itself. `key` is a
    public key that must have signed it, `signature` the file of that (by default `path` with .sig
    behind it). A package below `min_version` is refused, and one that was signed before the day
    `signed_since` (2026-11-23), which needs `key`. `require_native` refuses to run PTX. `simulate`
    names a target (`nki:trn2`) whose kernels run on its simulator, and no others: slow, and right to
    the bit where the machine is. It needs all of dslc. `processor` runs kernels for CPUs in place of
    this machine's.

    DSL0830 for what is no package, DSL0801 to DSL0803 for one that is not as it was written, DSL0832
    and DSL0833 where lock or key do not vouch for it, DSL0836 where it is too old.
    """
    folder = PackageFolder(path)
    if digest is not None and digest != folder.digest:
        text = f"{folder.path} has the digest {folder.digest[:16]}..., not {digest[:16]}..."
        raise error("DSL0832", text, hint="it is another package than the one that was asked for")
    if lock is not None:
        check_lock(lock, folder)
    if min_version is not None:
        check_version(folder, min_version)
    if key is not None:
        check_signature(folder, key, signature, signed_since=signed_since)
    elif signed_since is not None:
        raise error("DSL0836", "the date of a signature needs a key", hint="load(..., key=PATH)")
    folder.check()
    if processor is not None:
        return Package(folder, [cpu_place(folder, processor)])
    if simulate is not None:
        return Package(folder, [simulator(simulate)])
    return Package(folder, present_places(folder, native=require_native))


def _shape(value: Any) -> Sequence[int] | None:
    shape = getattr(value, "shape", None)
    return shape if isinstance(shape, Sequence) else None


def _on_host(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return True
    device = getattr(value, "__dlpack_device__", None)
    return device is not None and int(device()[0]) == 1


def _alignments(arguments: Mapping[str, Any]) -> dict[str, int]:
    """The GPU tensors that begin between multiples of 16 bytes, with the largest power that divides."""
    alignments = {}
    for name, value in arguments.items():
        address = _address(value)
        if address % 16:
            alignments[name] = address & -address
    return alignments


def _address(value: Any) -> int:
    """Where a GPU's tensor begins; 0 for everything else."""
    if isinstance(value, np.ndarray):
        return 0
    pointer = getattr(value, "data_ptr", None)
    if pointer is not None:  # of torch, whose interface refuses tensors that track gradients
        return int(pointer()) if getattr(value, "is_cuda", False) else 0
    interface = getattr(value, "__cuda_array_interface__", None)
    return int(interface["data"][0] or 0) if isinstance(interface, dict) else 0


def _shown(kernel: IndexedKernel) -> Iterator[str]:
    for p in kernel.parameters:
        dims = "" if p.dims is None else f"[{', '.join(p.dims)}]"
        yield f"{p.name}: {'' if p.mode == 'in' else p.mode + ' '}{p.dtype}{dims}"
