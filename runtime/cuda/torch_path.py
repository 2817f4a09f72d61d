"""The short way for torch tensors: a call whose tensors look like those of a call before.

What is left to do in Python decides what a launch costs, so the function is written out for the
parameters of a kernel: no loop, no dictionary. torch compares types, dtypes, devices, sizes and strides
of all tensors in one call with the guards of its compiler, where it has them; else they are compared
here one by one.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dslc.compiler.artifact import Param, Signature
from dslc.runtime.cuda.arrays import DeviceArray, alignment_of
from dslc.runtime.cuda.description import ALIGNMENT
from dslc.runtime.cuda.plan import Fire
from dslc.runtime.cuda.streams import stream_handle, torch_query
from dslc.runtime.elements import storage_dtype

Call = Callable[[Sequence[object], object], bool]
"""Launch with these arguments, in the order of the parameters, on a stream (None: the current one).

False where they are not like those that it was made for: nothing has happened then.
"""

_EXACT = frozenset({"f32", "f64", "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"})
_TYPES = {"f": "(int, float)", "b": "(bool,)"}


@dataclass(frozen=True, slots=True)
class Shape:
    """What a call like this one has: its plan, the arguments' order in it, what must stay the same."""

    fire: Fire
    order: tuple[str, ...]
    constant: Mapping[str, object]
    alignments: Mapping[str, int]


def torch_call(
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
    query = torch_query() if tensors else None
    if query is None or not all(p.dtype in _EXACT for p in scalars):
        return None
    names = {p.name: f"a{i}" for i, p in enumerate(params)}
    scope: dict[str, Any] = {
        "fire": shape.fire, "query": query, "device": device,
        "handle": stream_handle, "refusals": (struct.error, OverflowError),
    }  # fmt: skip
    checks = [_guard([a for _, a in tensors], [names[p.name] for p, _ in tensors], scope)]
    checks += [_scalar_check(p, names[p.name], shape.constant, scope) for p in scalars]
    misplaced = _misplaced(tensors, names, arrays, shape.alignments)
    overlaps, bounds = _overlaps(tensors, names, arrays)
    passed = [f"p{names[n]}" if n in arrays else names[n] for n in shape.order]
    lines = [
        "def call(arguments, stream):",
        f"    if len(arguments) != {len(params)}: return False",
        f"    {', '.join(names.values())}, = arguments",
        f"    if not ({' and '.join(checks)}): return False",
        *(f"    p{names[p.name]} = {names[p.name]}.data_ptr()" for p, _ in tensors),
        f"    if {' or '.join(misplaced)}: return False",
        *(f"    {bound}" for bound in bounds),
        *([f"    if {' or '.join(overlaps)}: return False"] if overlaps else []),
        "    stream = query(device) if stream is None else handle(stream)",
        f"    try: fire(stream, {', '.join(passed)})",
        "    except refusals: return False",
        "    return True",
    ]
    exec("\n".join(lines), scope)  # made of numbers and of names that are numbered
    call: Call = scope["call"]
    return call


def _guard(tensors: Sequence[Any], names: Sequence[str], scope: dict[str, Any]) -> str:
    """A condition that the tensors of these names look like these."""
    check = _torch_guards(tensors)
    if check is not None:
        scope["check"] = check
        return f"check({', '.join(names)})"
    parts = []
    for name, tensor in zip(names, tensors, strict=True):
        scope[f"{name}_type"] = type(tensor)
        scope[f"{name}_like"] = (
            tensor.dtype, tensor.get_device(), tensor.shape, tensor.stride(), tensor.is_neg()
        )  # fmt: skip
        parts.append(
            f"type({name}) is {name}_type and ({name}.dtype, {name}.get_device(), {name}.shape, "
            f"{name}.stride(), {name}.is_neg()) == {name}_like"
        )
    return " and ".join(parts)


def _torch_guards(tensors: Sequence[Any]) -> Callable[..., bool] | None:
    """torch's own comparison, if this version has it and it tells these tensors from others."""
    try:
        guards: Any = importlib.import_module("torch._C._dynamo.guards")
        made = guards.TensorGuards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None)
        check: Callable[..., bool] = made.check
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
    found = []
    for p, _ in tensors:
        name, seen = f"p{names[p.name]}", alignment_of(arrays[p.name], p.name)
        most = max(seen, wanted[p.name])
        if seen >= ALIGNMENT:
            whole.setdefault(most, []).append(name)
            continue
        above = 4 if seen < 4 else ALIGNMENT
        found.append(f"{name} & {most - 1} or not {name} & {above - 1}")
    return [f"({' | '.join(n)}) & {most - 1}" for most, n in whole.items()] + found


def _overlaps(
    tensors: Sequence[tuple[Param, object]],
    names: Mapping[str, str],
    arrays: Mapping[str, DeviceArray],
) -> tuple[list[str], list[str]]:
    """Conditions that an output's memory meets that of another argument, and what they read.

    The long way says which. Bounds are computed once for all arguments of a size.
    """
    bounds: dict[tuple[str, int], str] = {}
    found = []
    for i, (out, _) in enumerate(tensors):
        if out.mode == "in":
            continue
        p = f"p{names[out.name]}"
        above = bounds.setdefault((p, arrays[out.name].nbytes), f"b{len(bounds)}")
        for j, (other, _) in enumerate(tensors):
            if i == j or (other.mode != "in" and j < i):
                continue
            below = bounds.setdefault((p, -arrays[other.name].nbytes), f"b{len(bounds)}")
            found.append(f"{below} < p{names[other.name]} < {above}")
    return found, [f"{name} = {p} + {size}" for (p, size), name in bounds.items()]
