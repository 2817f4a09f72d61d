"""dslc: one tile program, six kinds of machine.

`import dslc` is light: the compiler is loaded by the first kernel that is compiled. A kernel comes
from a file or from a decorated function:

    lib = dslc.compile("softmax.tile")
    lib.softmax(x, y)

    @dslc.kernel(BM=[16, 64])
    def softmax(x: f32[M, N], y: out[f32[M, N]]): ...

The names of a decorated body are in `dslc.lang`; the dtypes are here too (`dslc.f16`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dslc.calls.settings import options as options
    from dslc.compilation.specialization import Specialization as Specialization
    from dslc.compiler.diagnostics import DiagnosticError as DiagnosticError
    from dslc.decorator import kernel as kernel
    from dslc.decorator import program as program
    from dslc.kernels import Kernel as Kernel
    from dslc.lang import dims as dims
    from dslc.lang import inout as inout
    from dslc.lang import out as out
    from dslc.lang import tensor as tensor
    from dslc.lang.elements import *  # noqa: F403 - the dtypes by name
    from dslc.library import Library as Library
    from dslc.library import compile as compile  # noqa: A004 - the module's own
    from dslc.loading import load as load
    from dslc.session import Dispatch as Dispatch
    from dslc.session import Session as Session
    from dslc.torch_operator import torch_op as torch_op

__version__ = "0.1.0"

_HOME = {
    "DiagnosticError": "dslc.compiler.diagnostics",
    "Kernel": "dslc.kernels",
    "Library": "dslc.library",
    "Dispatch": "dslc.session",
    "Session": "dslc.session",
    "Specialization": "dslc.compilation.specialization",
    "compile": "dslc.library",
    "dims": "dslc.lang",
    "inout": "dslc.lang",
    "kernel": "dslc.decorator",
    "load": "dslc.loading",
    "options": "dslc.calls.settings",
    "out": "dslc.lang",
    "program": "dslc.decorator",
    "tensor": "dslc.lang",
    "torch_op": "dslc.torch_operator",
}
_MODULES = frozenset(
    {"codegen", "compiler", "compress", "lang", "packaging", "quantize", "runtime"}
)

__all__ = [
    "DiagnosticError",
    "Dispatch",
    "Kernel",
    "Library",
    "Session",
    "Specialization",
    "__version__",
    "compile",
    "dims",
    "inout",
    "kernel",
    "load",
    "options",
    "out",
    "program",
    "tensor",
    "torch_op",
]


def __getattr__(name: str) -> object:
    """A public name, imported when it is first asked for."""
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"dslc.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    elif name.startswith("_"):
        raise AttributeError(f"module 'dslc' has no attribute {name!r}")
    else:
        value = getattr(importlib.import_module("dslc.lang.elements"), name, None)
        if not hasattr(value, "bits"):
            raise AttributeError(f"module 'dslc' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from dslc.lang import elements

    return sorted([*__all__, *elements.__all__, *_MODULES])
