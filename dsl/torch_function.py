"""A kernel as a function of torch that returns what it computes, and its gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from dslc.calls.signature import Parameter
from dslc.compiler.diagnostics import error
from dslc.kernels import Kernel
from dslc.runtime.expression import compile_expression

Backward: TypeAlias = Callable[..., Any]
"""backward(inputs, outputs, *gradients of the outputs) gives the gradients of the inputs, in order."""

# What torch calls the elements of arrays of these types; codes of fewer bits have a byte each.
_NAMES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "tf32": "float32",
    "f64": "float64",
}


class Function:
    """The call of a kernel whose outputs are made anew."""

    def __init__(self, kernel: Kernel, tunes: Mapping[str, object], torch: Any) -> None:
        self.inputs = tuple(p for p in kernel.parameters if p.mode == "in")
        self._outputs = tuple(p for p in kernel.parameters if p.mode == "out")
        self._kernel, self._tunes, self._torch = kernel, tunes, torch
        if len(self.inputs) + len(self._outputs) < len(kernel.parameters) or not self._outputs:
            what = "it has no output" if not self._outputs else "it changes a tensor in place"
            raise error("DSL0748", f"{kernel.name} gives no functional operator: {what}")
        known = {d for p in self.inputs if not p.optional for d in p.dims or ()}
        untold = [d for d in kernel.origin.signature.dims if d not in known]
        if untold:
            text = f"no input of {kernel.name} has an axis of {untold[0]} elements"
            raise error("DSL0748", text, hint="torch_op(kernel) takes outputs that exist")

    @property
    def returns(self) -> str:
        """The results in torch's schema language."""
        one = len(self._outputs) == 1
        return "Tensor" if one else f"({', '.join('Tensor' for _ in self._outputs)})"

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the kernel."""
        results = self._made(arguments, named)
        outputs = dict(zip((p.name for p in self._outputs), results, strict=True))
        given = dict(zip((p.name for p in self.inputs), arguments, strict=False))
        self._kernel(**given, **named, **outputs, **self._tunes)
        return results[0] if len(results) == 1 else results

    def empty(self, *arguments: Any, **named: Any) -> Any:
        """Tensors of the results' shapes, which may be symbols, where torch traces a program."""
        results = self._made(arguments, named)
        return results[0] if len(results) == 1 else results

    def _made(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        sizes: dict[str, Any] = {}
        device = None
        for i, parameter in enumerate(self.inputs):
            if parameter.dims is None:
                continue
            tensor = arguments[i] if i < len(arguments) else named.get(parameter.name)
            if tensor is None:  # of an optional parameter
                continue
            device = tensor.device
            if not parameter.may_be_packed:  # packed bytes have a shape of their own
                for text, size in zip(parameter.dims, tensor.shape, strict=False):
                    if text.isidentifier():
                        sizes.setdefault(text, size)
        return tuple(self._empty(p, sizes, device) for p in self._outputs)

    def _empty(self, parameter: Parameter, sizes: Mapping[str, Any], device: Any) -> Any:
        shape = [compile_expression(d)(sizes) for d in parameter.dims or ()]
        return self._torch.empty(shape, dtype=_torch_dtype(self._torch, parameter), device=device)


def differentiate(torch: Any, library: Any, name: str, backward: Backward) -> None:
    """Tell torch the gradient of an operator."""

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        outputs = output if isinstance(output, tuple) else (output,)
        kept = [*inputs, *outputs]
        ctx.save_for_backward(*(x for x in kept if isinstance(x, torch.Tensor)))
        ctx.rest = [None if isinstance(x, torch.Tensor) else x for x in kept]
        ctx.are_tensors = [isinstance(x, torch.Tensor) for x in kept]
        ctx.inputs = len(inputs)

    def gradients(context: Any, *of_outputs: Any) -> Any:
        saved = iter(context.saved_tensors)
        pairs = zip(context.are_tensors, context.rest, strict=True)
        kept = [next(saved) if is_tensor else rest for is_tensor, rest in pairs]
        inputs, outputs = tuple(kept[: context.inputs]), tuple(kept[context.inputs :])
        of_inputs = backward(inputs, outputs, *of_outputs)
        return (
            of_inputs if isinstance(of_inputs, tuple) else (of_inputs, *[None] * (len(inputs) - 1))
        )

    torch.library.register_autograd(name, gradients, setup_context=keep, lib=library)


def _torch_dtype(torch: Any, parameter: Parameter) -> Any:
    dtype = parameter.dtype
    if dtype.is_float and dtype.bits > 8:
        return getattr(torch, _NAMES[dtype.name])
    if dtype.name == "bool":
        return torch.bool
    if not dtype.is_integer:
        return torch.uint8  # codes of small floats
    sign = "" if dtype.is_signed else "u"
    return getattr(torch, f"{sign}int{max(8, dtype.bits)}")
