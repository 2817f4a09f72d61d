"""A kernel as an operator of torch, which torch.compile keeps whole: `op = dslc.torch_op(lib.gemm)`.

torch learns from the schema what the operator reads and writes, and needs nothing else: it never looks
into the call.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from dslc.calls.signature import Parameter
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import Kind
from dslc.kernels import Kernel
from dslc.raising import raises_short
from dslc.torch_function import Backward, Function, differentiate

_registered: dict[tuple[str, str], Any] = {}  # torch forgets an operator with its library


@raises_short
def torch_op(
    kernel: Kernel,
    name: str | None = None,
    *,
    namespace: str = "dslc",
    functional: bool = False,
    backward: Backward | None = None,
    **tunes: object,
) -> Callable[..., Any]:
    """Register `torch.ops.<namespace>.<name>` and give it; `name` is the kernel's where it is None.

    The operator takes the kernel's parameters in order or by name, outputs included, and returns
    nothing; `tunes` are the choices of every call. With `functional` it takes the inputs alone and
    returns new tensors, one or a tuple, whose shapes follow from those of the inputs. `backward`
    makes that differentiable: `backward(inputs, outputs, *gradients)` gives the gradients of the
    inputs, None for those that have none.

    It runs on tensors of the GPU where the kernel does, else on tensors of the host. DSL0748 where the
    name is taken or is none, or where a functional operator cannot be made of the kernel.
    """
    torch: Any = importlib.import_module("torch")
    chosen = kernel.name if name is None else name
    if backward is not None and not functional:
        hint = "torch_op(kernel, functional=True, backward=...)"
        raise error("DSL0748", "a gradient is that of a functional operator", hint=hint)
    function = Function(kernel, tunes, torch) if functional else None
    taken = function.inputs if function else kernel.parameters
    schema = ", ".join(_schema(p, i) for i, p in enumerate(taken))
    given = function.returns if function else "()"
    key = (namespace, chosen)
    if key in _registered:
        text = f"torch has the operator {namespace}::{chosen} already"
        raise error("DSL0748", text, hint="give another name: torch_op(kernel, 'name')")
    library = torch.library.Library(namespace, "FRAGMENT")
    try:
        library.define(f"{chosen}({schema}) -> {given}")
    except RuntimeError as problem:
        raise error("DSL0748", f"torch refuses the operator: {problem}") from None

    def run(*arguments: Any, **named: Any) -> None:
        kernel(*arguments, **named, **tunes)

    def nothing(*arguments: Any, **named: Any) -> None:
        """What the operator gives where torch runs shapes alone: its outputs exist already."""

    qualified = f"{namespace}::{chosen}"
    library.impl(chosen, function or run, kernel.origin.machine.torch_device())
    torch.library.register_fake(qualified, function.empty if function else nothing, lib=library)
    if backward is not None:
        differentiate(torch, library, qualified, backward)
    _registered[key] = library
    operator: Callable[..., None] = getattr(getattr(torch.ops, namespace), chosen)
    return operator


def _schema(parameter: Parameter, number: int) -> str:
    """A parameter in torch's schema language; `(a!)` marks what is written."""
    if parameter.dims is not None:
        absent = "?" if parameter.optional else ""
        kind = f"Tensor(a{number}!){absent}" if parameter.is_written else f"Tensor{absent}"
    elif parameter.dtype.kind is Kind.BOOL:
        kind = "bool"
    else:
        kind = "int" if parameter.dtype.is_integer else "float"
    if parameter.dims is None and parameter.optional:
        kind += "?"
    return f"{kind} {parameter.name}"
