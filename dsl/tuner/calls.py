"""Tunings that begin with a call: `kernel.tune(...)`, and kernels that tune themselves."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from dslc.calls.arguments import dim_size, is_tensor
from dslc.calls.signature import Parameter, plain_number
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.dtypes import storage_dtype
from dslc.environment import calls_compile
from dslc.runtime.cuda.arrays import DeviceArray
from dslc.tuner.records import bucket
from dslc.tuner.tuning import Request, Result, Settings, tune

if TYPE_CHECKING:
    from dslc.calls.arguments import Argument
    from dslc.compilation.templates import TemplateOrigin
    from dslc.kernels import Origin
    from dslc.tuner.inputs import Array, Scalar
    from dslc.tuner.records import Sizes


class TuningWarning(UserWarning):
    """A kernel could not be tuned at a call, or a configuration was dropped."""


def tune_kernel(
    origin: Origin,
    args: Sequence[object],
    named: Mapping[str, object],
    fix: tuple[str, ...],
    settings: Settings,
) -> Result:
    """Tune for arguments of a call, all or some of them; `named` may hold dims and choices too.

    DSL0755 for names that the kernel has not.
    """
    template = tunable(origin)
    signature = template.signature
    arguments, rest = _arguments(template, args, named)
    config, dims = signature.choices(rest)
    for dim in fix:
        signature.choices({dim: 1})  # DSL0755 for a name that is none
    own = [p for p in signature.parameters if p.name in arguments]
    ready = template.machine.prepare(own, arguments)
    known = {d: dim_size(own, ready, d) for d in signature.dims}
    sizes = {d: n for d, n in known.items() if n is not None} | dims
    request = Request(sizes, fix, config, given_of(own, ready))
    result = tune(template, request, settings)
    warn_dropped(result)
    return result


def tune_for_call(origin: Origin, ready: Mapping[str, Argument], size: Sizes) -> None:
    """Tune a kernel for a call that is about to run, unless its sizes were tuned before.

    Whatever goes wrong is a warning, once for these sizes: the call runs with the default choices.
    While a graph is captured nothing is tuned, nor where calls must not compile (`DSLC_JIT=error`).
    """
    template = tunable(origin)
    measured = template.machine.facts.tuning == "measured"
    if not measured or not calls_compile() or _is_capturing():
        return
    dims = template.signature.dims
    sizes = {d: n for d in dims if (n := template.fixed.get(d, size(d))) is not None}
    key = tuple((d, bucket(n)) for d, n in sorted(sizes.items()))
    if key in template.tuned.tried or template.tuned.find(sizes.get) is not None:
        return
    template.tuned.tried.add(key)
    parameters = template.signature.parameters
    try:
        result = tune(template, Request(sizes, given=given_of(parameters, ready)))
    except DiagnosticError as failure:
        text = f"{template.signature.name} runs with its default choices: {failure.summary}"
        warnings.warn(text, TuningWarning, stacklevel=4)
        return
    warn_dropped(result)


def tunable(origin: Origin) -> TemplateOrigin:
    """The origin where it has the kernel's source; DSL0920 for a package's."""
    from dslc.compilation.templates import TemplateOrigin

    if isinstance(origin, TemplateOrigin):
        return origin
    text = f"{origin.signature.name} comes from a package, without its source"
    raise error("DSL0920", text, hint="tune where the package is built: dslc tune, then dslc build")


def given_of(
    parameters: Sequence[Parameter], ready: Mapping[str, Argument]
) -> dict[str, Array | Scalar]:
    """Prepared arguments on the host; outputs are left out, since they are written alone."""
    given: dict[str, Any] = {}
    for parameter in parameters:
        value = ready[parameter.name]
        if not is_tensor(value):
            given[parameter.name] = value
        elif parameter.mode != "out":
            given[parameter.name] = _on_host(parameter, value)
    return given


def warn_dropped(result: Result) -> None:
    """A warning for each configuration that gave other results than the default, or failed."""
    for candidate, reason in result.found.dropped:
        text = f"{result.kernel} with {candidate.configuration} is not used: {reason}"
        warnings.warn(text, TuningWarning, stacklevel=3)


def _on_host(parameter: Parameter, value: object) -> Array:
    if isinstance(value, np.ndarray):
        return value
    from dslc.tuner.gpu import host_copy

    assert isinstance(value, DeviceArray)
    stored = storage_dtype(parameter.dtype)
    packed = value.element == "uint8" and parameter.dtype.is_low_bit
    return host_copy(value, np.dtype(np.uint8) if packed else stored)


def _arguments(
    template: TemplateOrigin, args: Sequence[object], named: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, object]]:
    """Arguments by parameter, and the other keywords."""
    signature = template.signature
    names = [p.name for p in signature.parameters]
    if len(args) > len(names):
        text = f"{signature.name} takes {len(names)} arguments, got {len(args)}"
        raise error("DSL0755", text, hint=f"the signature is {signature}")
    arguments = dict(zip(names, args, strict=False))
    rest: dict[str, object] = {}
    for name, value in named.items():
        if name in names:
            arguments[name] = value
        else:
            rest[name] = plain_number(value)
    return arguments, rest


def _is_capturing() -> bool:
    torch: Any = sys.modules.get("torch")
    return (
        torch is not None and torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()
    )
