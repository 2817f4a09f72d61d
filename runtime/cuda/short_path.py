"""The short way for tensors of torch or CuPy: a call whose tensors look like those of a call before.

What is left to do in Python decides what a launch costs, so the function is written out for the
parameters of a kernel: no loop, no dictionary. torch compares types, dtypes, devices, sizes and strides
of all tensors in one call with the guards of its compiler, where it has them; else they are compared
here one by one, as those of CuPy are.
"""

from __future__ import annotations

import importlib
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dslc.compiler.artifact import Param, Signature
from dslc.runtime.cuda.arrays import DeviceArray, alignment_of, is_cupy, is_torch
from dslc.runtime.cuda.description import ALIGNMENT
from dslc.runtime.cuda.native_path import native_call
from dslc.runtime.cuda.plan import Direct, Fire, Frame
from dslc.runtime.cuda.streams import stream_handle, torch_query
from dslc.runtime.elements import storage_dtype
from dslc.runtime.expression import Number

Call = Callable[[Sequence[object], object], bool]
"""Launch with these arguments, in the order of the parameters, on a stream (None: the current one).

False where they are not like those that it was made for: nothing has happened then.
"""

_EXACT = frozenset({"f32", "f64", "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"})
_TYPES = {"f": "(int, float)", "b": "(bool,)"}
_REFUSALS = (struct.error, OverflowError)  # a scalar that its C type cannot hold
_MOST_KNOWN = 512
_DIRECT = (
    "    if status := launch(found.reference, handle_of, found.parameters, None):",
    "        again(found, status)",
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a call like this one has: its plan, the arguments' order in it, what must stay the same."""

    fire: Fire
    direct: Direct | None
    order: tuple[str, ...]
    constant: Mapping[str, object]
    alignments: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Library:
    """How tensors of a library are compared, where they begin, and what its current stream is."""

    guard: Callable[[Sequence[Any], Sequence[str], dict[str, Any]], str]
    address: str
    query: Callable[[int], int]


def _library(tensors: Sequence[object]) -> _Library | None:
    """The library that all these tensors are of."""
    if tensors and all(is_torch(t) for t in tensors):
        query = torch_query()
        return None if query is None else _Library(_guard_of_torch, "data_ptr()", query)
    if tensors and all(is_cupy(t) for t in tensors):
        cupy: Any = sys.modules["cupy"]
        current = cupy.cuda.get_current_stream
        return _Library(_guard_of_cupy, "data.ptr", lambda device: int(current().ptr))
    return None


def short_call(
    signature: Signature,
    arguments: Sequence[object],
    arrays: Mapping[str, DeviceArray],
    shape: Shape,
) -> Call | None:
    """The short way for calls like this one; None where there is none."""
    params = signature.params
    tensors = [(p, a) for p, a in zip(params, arguments, strict=True) if p.dims is not None]
    scalars = [p for p in params if p.dims is None]
    device = next((arrays[p.name].device for p, _ in tensors), -1)
    library = _library([a for _, a in tensors])
    if library is None or not all(p.dtype in _EXACT for p in scalars):
        return None
    if len(set(shape.order)) < len(shape.order) or not {p.name for p, _ in tensors} <= {
        *shape.order
    }:
        return None
    names = {p.name: f"a{i}" for i, p in enumerate(params)}
    known = _Known(shape, _fits(tensors, names, arrays, shape))
    guards = _torch_guards([a for _, a in tensors]) if library.guard is _guard_of_torch else None
    if shape.direct and guards:
        anew = _anew_in_order(params, shape, known)
        native = native_call(
            params, guards, library.query, device, shape.direct, anew, [a for _, a in tensors]
        )
        if native is not None:
            return native
    scope: dict[str, Any] = {
        "known": known.frames.get if shape.direct else known.verified.__contains__,
        "anew": known.anew,
        "fire": shape.fire,
        "query": library.query,
        "device": device,
        "handle": stream_handle,
        "exact": struct.Struct("<d").pack,
        "refusals": _REFUSALS,
    }
    if shape.direct:
        scope |= {n: getattr(shape.direct, n) for n in ("launch", "handle_of", "again")}
    checks = [library.guard([a for _, a in tensors], [names[p.name] for p, _ in tensors], scope)]
    checks += [_scalar_check(p, names[p.name], shape.constant, scope) for p in scalars]
    # Floats that are equal may be two numbers: 0.0 and -0.0.
    floats = {p.name for p in scalars if p.dtype.startswith("f")}
    exact = [
        f"exact({names[n]})" if n in floats else _passed(n, names, arrays) for n in shape.order
    ]
    passed = ", ".join(_passed(n, names, arrays) for n in shape.order)
    lines = [
        "def call(arguments, stream):",
        f"    try: {', '.join(names.values())}, = arguments",
        "    except ValueError: return False",
        f"    if not ({' and '.join(checks)}): return False",
        *(f"    p{names[p.name]} = {names[p.name]}.{library.address}" for p, _ in tensors),
        "    stream = query(device) if stream is None else handle(stream)",
        f"    try: key = (stream, {', '.join(exact)})",
        "    except refusals: return False",
        "    found = known(key)",
        f"    if not found: return anew(key, stream, {passed})",
        *(_DIRECT if shape.direct else [f"    fire(stream, {passed})"]),
        "    return True",
    ]
    exec("\n".join(lines), scope)  # made of numbers and of names that are numbered
    call: Call = scope["call"]
    return call


def _passed(name: str, names: Mapping[str, str], arrays: Mapping[str, DeviceArray]) -> str:
    return f"p{names[name]}" if name in arrays else names[name]


class _Known:
    """Addresses and scalars with which there was a launch before: nothing is left to check.

    Those that come a second time get a frame of their own, where the launch is direct.
    """

    def __init__(self, shape: Shape, fits: Callable[..., bool]) -> None:
        self._shape, self._fits = shape, fits
        self.verified: set[tuple[object, ...]] = set()
        self.frames: dict[tuple[object, ...], Frame] = {}

    def anew(self, key: tuple[object, ...], stream: int, *given: Number) -> bool:
        """A launch with a key that is not known; False where the arguments do not fit."""
        if key not in self.verified and not self._fits(*given):
            return False
        try:
            self._shape.fire(stream, *given)
        except _REFUSALS:
            return False
        if self._shape.direct is not None and key in self.verified:
            if len(self.frames) >= _MOST_KNOWN:
                self.frames.clear()
            self.frames[key] = self._shape.direct.frame(stream, given)
        if len(self.verified) >= _MOST_KNOWN:
            self.verified.clear()
        self.verified.add(key)
        return True


def _anew_in_order(
    params: Sequence[Param], shape: Shape, known: _Known
) -> Callable[..., Frame | bool]:
    """`_Known.anew` for arguments in the order of the parameters; the frame once there is one."""
    names = [p.name for p in params]
    places = [names.index(n) for n in shape.order]
    fixed = [(names.index(n), v) for n, v in shape.constant.items()]
    exact = struct.Struct("<d").pack

    def anew(stream: int, *given: Number) -> Frame | bool:
        if any(given[i] != v for i, v in fixed):
            return False
        passed = [given[i] for i in places]
        key = (stream, *(exact(v) if isinstance(v, float) else v for v in passed))
        return known.anew(key, stream, *passed) and known.frames.get(key, True)

    return anew


def _fits(
    tensors: Sequence[tuple[Param, object]],
    names: Mapping[str, str],
    arrays: Mapping[str, DeviceArray],
    shape: Shape,
) -> Callable[..., bool]:
    """Whether addresses, in the order of a launch's arguments, are aligned and outputs apart."""
    misplaced = _misplaced(tensors, names, arrays, shape.alignments)
    overlaps, bounds = _overlaps(tensors, names, arrays)
    scope: dict[str, Any] = {}
    lines = [
        f"def fits({', '.join(_passed(n, names, arrays) for n in shape.order)}):",
        f"    if {' or '.join(misplaced)}: return False",
        *(f"    {bound}" for bound in bounds),
        f"    return not ({' or '.join(overlaps) or False})",
    ]
    exec("\n".join(lines), scope)
    fits: Callable[..., bool] = scope["fits"]
    return fits


def _guard_of_torch(tensors: Sequence[Any], names: Sequence[str], scope: dict[str, Any]) -> str:
    """A condition that the tensors of these names look like these."""
    check = _torch_guards(tensors)
    if check is not None:
        scope["check"] = check
        return f"check({', '.join(names)})"
    parts = []
    for name, tensor in zip(names, tensors, strict=True):
        scope[f"{name}_type"] = type(tensor)
        scope[f"{name}_like"] = (
            tensor.dtype,
            tensor.get_device(),
            tensor.shape,
            tensor.stride(),
            tensor.is_neg(),
        )
        parts.append(
            f"type({name}) is {name}_type and ({name}.dtype, {name}.get_device(), {name}.shape, "
            f"{name}.stride(), {name}.is_neg()) == {name}_like"
        )
    return " and ".join(parts)


def _guard_of_cupy(tensors: Sequence[Any], names: Sequence[str], scope: dict[str, Any]) -> str:
    """The same for CuPy's; strides are in bytes."""
    parts = []
    for name, tensor in zip(names, tensors, strict=True):
        scope[f"{name}_type"] = type(tensor)
        scope[f"{name}_like"] = (tensor.dtype, tensor.shape, tensor.strides, tensor.data.device_id)
        parts.append(
            f"type({name}) is {name}_type and ({name}.dtype, {name}.shape, {name}.strides, "
            f"{name}.data.device_id) == {name}_like"
        )
    return " and ".join(parts)


def _torch_guards(tensors: Sequence[Any]) -> Callable[..., bool] | None:
    """torch's own comparison, if this version has it and it tells these tensors from others."""
    try:
        guards: Any = importlib.import_module("torch._C._dynamo.guards")
        built = guards.TensorGuards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None)
        check: Callable[..., bool] = built.check
        others = [tensors[0].unsqueeze(0), *tensors[1:]]
        return check if check(*tensors) is True and check(*others) is False else None
    except Exception:  # a private part of torch: whatever is wrong with it, there is the other way
        return None


def _scalar_check(
    param: Param, name: str, constant: Mapping[str, object], scope: dict[str, Any]
) -> str:
    kind = storage_dtype(param.dtype).kind
    types = _TYPES.get(kind, "(int,)")
    if param.name in constant:
        scope[f"{name}_is"] = constant[param.name]
        return f"type({name}) in {types} and {name} == {name}_is"
    return f"type({name}) in {types}"


def _misplaced(
    tensors: Sequence[tuple[Param, object]],
    names: Mapping[str, str],
    arrays: Mapping[str, DeviceArray],
    wanted: Mapping[str, int],
) -> list[str]:
    """Conditions that a tensor begins at other multiples of bytes than the one that was seen.

    At more of them, too: there may be a better kernel for those.
    """
    whole: dict[int, list[str]] = {}
    tests = []
    for p, _ in tensors:
        name, seen = f"p{names[p.name]}", alignment_of(arrays[p.name], p.name)
        most = max(seen, wanted[p.name])
        if seen >= ALIGNMENT:
            whole.setdefault(most, []).append(name)
            continue
        above = 4 if seen < 4 else ALIGNMENT
        tests.append(f"{name} & {most - 1} or not {name} & {above - 1}")
    return [f"({' | '.join(n)}) & {most - 1}" for most, n in whole.items()] + tests


def _overlaps(
    tensors: Sequence[tuple[Param, object]],
    names: Mapping[str, str],
    arrays: Mapping[str, DeviceArray],
) -> tuple[list[str], list[str]]:
    """Conditions that an output's memory meets that of another argument, and what they read.

    The long way says which. Bounds are computed once for all arguments of a size.
    """
    bounds: dict[tuple[str, int], str] = {}
    tests = []
    for i, (out, _) in enumerate(tensors):
        if out.mode == "in":
            continue
        p = f"p{names[out.name]}"
        above = bounds.setdefault((p, arrays[out.name].nbytes), f"b{len(bounds)}")
        for j, (other, _) in enumerate(tensors):
            if i == j or (other.mode != "in" and j < i):
                continue
            below = bounds.setdefault((p, -arrays[other.name].nbytes), f"b{len(bounds)}")
            tests.append(f"{below} < p{names[other.name]} < {above}")
    return tests, [f"{name} = {p} + {size}" for (p, size), name in bounds.items()]
