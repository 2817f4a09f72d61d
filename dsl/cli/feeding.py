"""The arguments of a run: given ones fitted, missing ones random, outputs ready to be written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from dslc.calls.random_inputs import random_array
from dslc.cli.inputs import Array, Scalar, fit
from dslc.cli.session import current
from dslc.compiler.diagnostics import did_you_mean, error
from dslc.compiler.dtypes import DType, parse_dtype, storage_dtype
from dslc.runtime.expression import evaluate

if TYPE_CHECKING:
    from dslc.calls.signature import Parameter
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.artifact import Param
    from dslc.kernels import Kernel


@dataclass(frozen=True, slots=True)
class Feed:
    """Arguments by parameter. `fresh` gives them with outputs of their own, run after run."""

    arguments: Mapping[str, Array | Scalar]
    dtypes: Mapping[str, DType]
    written: tuple[str, ...]

    def fresh(self) -> dict[str, Any]:
        """The arguments, with copies of what the kernel writes."""
        return {
            name: np.array(value) if name in self.written else value
            for name, value in self.arguments.items()
        }


def feed(
    kernel: Kernel,
    *,
    given: Mapping[str, Array | Scalar],
    dims: Mapping[str, int],
    config: Mapping[str, Any],
    seed: int,
) -> tuple[Specialization, Feed]:
    """The kernel compiled for the sizes at hand, and an argument for each of its parameters.

    DSL0911 for an input that is no parameter, DSL0913 for a dim without a size, DSL0915 for a scalar
    without a value.
    """
    _check_names(kernel, given, dims)
    sizes = _known_sizes(kernel, given) | dict(dims)
    specialization = kernel.specialize_for(sizes, config)
    sizes |= specialization.fixed
    _require_sizes(kernel, [d for d in kernel.dims if d not in sizes])
    rng = np.random.default_rng(seed)
    arguments = {
        p.name: _argument(kernel, p, given.get(p.name), sizes, rng)
        for p in specialization.artifact.signature.params
    }
    dtypes = {p.name: p.dtype for p in kernel.parameters}
    written = tuple(p.name for p in kernel.parameters if p.is_written)
    return specialization, Feed(arguments, dtypes, written)


def _check_names(kernel: Kernel, given: Iterable[str], dims: Mapping[str, int]) -> None:
    names = [p.name for p in kernel.parameters]
    for name in given:
        if name not in names:
            hint = did_you_mean(name, names) or f"its parameters are {', '.join(names)}"
            raise error("DSL0911", f"{kernel.name} has no parameter {name}", hint=hint)
    known = ", ".join(kernel.dims) or "none"
    for name, size in dims.items():
        if name not in kernel.dims:
            hint = did_you_mean(name, kernel.dims) or f"its dims are {known}"
            raise error("DSL0910", f"--dim {name}: {kernel.name} has no dim {name}", hint=hint)
        if size < 0:
            raise error("DSL0910", f"--dim {name}={size}: a size is not negative")


def _known_sizes(kernel: Kernel, given: Mapping[str, Array | Scalar]) -> dict[str, int]:
    """The dims that are axes of given arrays."""
    sizes: dict[str, int] = {}
    for parameter in kernel.parameters:
        array = given.get(parameter.name)
        _check_kind(parameter, array)
        if isinstance(array, np.ndarray) and len(parameter.dims or ()) == array.ndim:
            axes = zip(parameter.dims or (), array.shape, strict=True)
            sizes |= {d: int(n) for d, n in axes if d in kernel.dims}
    return sizes


def _check_kind(parameter: Parameter, given: Array | Scalar | None) -> None:
    is_array = isinstance(given, np.ndarray)
    if given is None or is_array == (parameter.dims is not None):
        return
    if is_array:
        text = f"--input {parameter.name}: an array, but {parameter} is a scalar"
        raise error("DSL0911", text, hint=f"write --input {parameter.name}=NUMBER")
    raise error(
        "DSL0911", f"--input {parameter.name}={given}: the tensor {parameter} comes from a file"
    )


def _require_sizes(kernel: Kernel, missing: Iterable[str]) -> None:
    missing = list(missing)
    if missing:
        options = " ".join(f"--dim {d}=..." for d in missing)
        raise error(
            "DSL0913",
            f"{kernel.name}: the size of {' and '.join(missing)} is not known",
            hint=f"add {options}, or an --input whose shape says it",
        )


def _argument(
    kernel: Kernel,
    param: Param,
    given: Array | Scalar | None,
    sizes: Mapping[str, int],
    rng: np.random.Generator,
) -> Array | Scalar:
    dtype = parse_dtype(param.dtype)
    assert dtype is not None, param.dtype
    if param.dims is None:
        if given is None:
            hint = f"add --input {param.name}=VALUE ({dtype})"
            raise error(
                "DSL0915", f"{kernel.name}: the scalar {param.name} has no value", hint=hint
            )
        return given
    if isinstance(given, np.ndarray):
        array, note = fit(param.name, given, dtype)
        if note:
            current().note(f"note: {note}")
        return array
    if given is not None:
        raise error(
            "DSL0911", f"--input {param.name}={given}: a tensor of {dtype} comes from a file"
        )
    shape = tuple(evaluate(text, sizes) for text in param.dims)
    try:
        if param.mode == "out":
            return np.zeros(shape, storage_dtype(dtype))
        return random_array(dtype, shape, rng)
    except (ValueError, MemoryError):
        text = f"{param.name}: {dtype}{list(shape)} does not fit in this machine's memory"
        raise error("DSL0910", f"{kernel.name}: {text}", hint="give smaller --dim") from None
