"""Products with weights of any form: floats, codes by groups, codes of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from dslc.compiler.targets import find_target
from dslc.machines.registry import resolve_target
from dslc.models.kernel_sources import CompiledKernels
from dslc.models.linear import Product, ToNearest, form_of
from dslc.models.plan import PARAMETERS
from dslc.nn.operators import NAMES, Call, target_of
from dslc.quantize import Quantized
from torch import Tensor

_STORED = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


class Linear(torch.nn.Module):
    """y = x @ w + bias, x of [..., in_features] and of the dtype that it was made for.

    The weights are buffers, packed for `target`: a state that is loaded must be one of the same target,
    form and sizes. The gradient of x exists; those of dense weights and of the bias too where they are
    parameters (`trains`).
    """

    def __init__(
        self,
        product: Product,
        arrays: Mapping[str, Tensor],
        bias: Tensor | None = None,
        *,
        target: str,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = product.rows, product.columns
        self.target = target
        self.form, self.dtype = product, dtype
        for name, tensor in arrays.items():
            self.register_buffer(name, tensor)
        self.register_buffer("bias", bias)
        self._what = self._described().text()

    @classmethod
    def of(
        cls,
        weight: Tensor | Quantized,
        bias: Tensor | None = None,
        *,
        quantize: str = "",
        target: str = "",
        dtype: torch.dtype | None = None,
    ) -> Linear:
        """Of a weight [out, in] as torch has it, or codes of `dslc.quantize` or a checkpoint [in, out].

        `quantize` such as `u4:128` rounds floats to codes. DSL0790 where that cannot be.
        """
        if isinstance(weight, Tensor):
            device, dtype = weight.device, dtype or weight.dtype
            given: Any = weight.detach().cpu().float().numpy()
        else:
            device, given = torch.get_default_device(), weight
        dtype = dtype or torch.float32
        if dtype not in NAMES:
            raise TypeError(f"dslc.nn computes with {', '.join(NAMES.values())}, not {dtype}")
        if quantize and not isinstance(given, Quantized):
            given = ToNearest.parse(quantize)("weight", given, NAMES[dtype])
        target = find_target(resolve_target(target or target_of(device))).name
        form = form_of(given, NAMES[dtype])
        product = Product(form.kernel, form.rows, form.columns, form.constants)
        packed = CompiledKernels(target).pack(
            product, NAMES[dtype], {"w": form.codes, **form.arrays}
        )
        arrays = {name: _tensor(array).to(device) for name, array in packed.items()}
        if form.order is not None:
            arrays["order"] = torch.from_numpy(form.order.astype(np.int64)).to(device)
        held = None if bias is None else bias.detach().to(device, dtype)
        return cls(product, arrays, held, target=target, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        """x of [..., in_features] to [..., out_features]."""
        y = self._multiplied(x.reshape(-1, self.in_features))
        if self.bias is not None:
            y = y + self.bias
        return y.reshape(*x.shape[:-1], self.out_features)

    def _multiplied(self, rows: Tensor) -> Tensor:
        if hasattr(self, "order"):
            rows = rows[:, self.order]
        weights = [getattr(self, name) for name in PARAMETERS[self.form.kernel]]
        y: Tensor = product(rows, weights, self._what, self.out_features)
        return y

    def dequantized(self) -> Tensor:
        """The weight [out_features, in_features] that is multiplied by."""
        one = torch.eye(self.in_features, dtype=self.dtype, device=self.w.device)
        with torch.no_grad():
            return self._multiplied(one).T.contiguous()

    def extra_repr(self) -> str:
        """As torch prints modules."""
        kind = self.form.constants.get("W", NAMES[self.dtype])
        group = f":{self.form.constants['G']}" if "G" in self.form.constants else ""
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, weight={kind}{group}, target={self.target}"

    def _described(self) -> Call:
        kernels = CompiledKernels(self.target)
        packer = kernels.packer(self.form, NAMES[self.dtype])
        packs = any(p.packed for p in packer.artifact.signature.params)
        kept = (
            {n: int(str(v)) for n, v in packer.config.items() if n in ("BN", "BK")} if packs else {}
        )
        return Call(
            "models",
            self.form.kernel,
            self.target,
            {"T": NAMES[self.dtype], **self.form.constants},
            ("a", *PARAMETERS[self.form.kernel]),
            "c",
            {"K": self.in_features, "N": self.out_features},
            kept,
            (16, 64) if kept else (),
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # A copy may be of another process, whose processor has other choices for the same bytes.
        self._what = self._described().text()


@torch.library.custom_op("dslc::product", mutates_args=())
def product(x: Tensor, weights: list[Tensor], what: str, columns: int) -> Tensor:
    """x @ w for weights as a kernel reads them."""
    y: Tensor = torch.ops.dslc.call([x, *weights], what, x.shape[0], columns)
    return y


@product.register_fake
def _empty(x: Tensor, weights: list[Tensor], what: str, columns: int) -> Tensor:
    return x.new_empty((x.shape[0], columns))


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, weights, ctx.what, ctx.columns = inputs
    ctx.width = x.shape[1]
    ctx.save_for_backward(*weights)


def _gradients(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    """That of x: the matrix is what the kernel makes of the unit matrix."""
    one = torch.eye(ctx.width, dtype=gradient.dtype, device=gradient.device)
    weights = list(ctx.saved_tensors)
    matrix = torch.ops.dslc.product(one, weights, ctx.what, ctx.columns)
    return gradient @ matrix.T, [None] * len(weights), None, None


product.register_autograd(_gradients, setup_context=_keep)


def swap_linears(
    model: torch.nn.Module,
    *,
    quantize: str = "",
    target: str = "",
    keep: Callable[[str], bool] = lambda name: False,
) -> list[str]:
    """Replace every nn.Linear of a model by one of `dslc.nn`, in place; the names of those replaced.

    `keep` tells those that stay. One weight at a time is there twice.
    """
    names = [
        n for n, m in model.named_modules() if type(m) is torch.nn.Linear and n and not keep(n)
    ]
    for name in names:
        owner, _, last = name.rpartition(".")
        parent = model.get_submodule(owner)
        old = getattr(parent, last)
        linear = Linear.of(old.weight, old.bias, quantize=quantize, target=target)
        setattr(parent, last, linear.train(old.training))
        del old
    return names


def is_kept(name: str, kept: Sequence[str]) -> bool:
    """Whether a module is one of those that stay as they are, or within one of them."""
    return any(name == k or name.startswith(f"{k}.") or name.endswith(f".{k}") for k in kept)


def _tensor(array: Any) -> Tensor:
    """An array as a tensor: bf16 by its bits, whatever is packed as bytes."""
    plain = np.ascontiguousarray(np.asarray(array))
    if plain.dtype.name == "bfloat16":
        return torch.from_numpy(plain.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(plain.copy())
