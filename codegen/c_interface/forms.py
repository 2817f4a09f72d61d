"""What an interface is made of: kernels as callers know them, and the artifacts that serve a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dslc.compiler.artifact import Artifact, Param
from dslc.compiler.diagnostics import error

CTYPES: Mapping[str, str] = {
    "f64": "double",
    "bool": "bool",
    **{f"{s}{n}": f"{'u' * (s == 'u')}int{n}_t" for s in "iu" for n in (8, 16, 32, 64)},
}
"""Of scalars; every other one is a float."""

_CODES = {"f": 2, "i": 0, "u": 1}
_DLPACK = {"bf16": (4, 16), "tf32": (2, 32), "bool": (6, 8)}

Names: TypeAlias = Mapping[str, str]
"""What dims and scalars are in C."""


@dataclass(frozen=True, slots=True)
class Form:
    """An artifact, what its choices are meant for, and its images' paths by the number of a kernel."""

    artifact: Artifact
    sizes: Mapping[str, int]
    images: tuple[str, ...] = ()

    @property
    def params(self) -> tuple[Param, ...]:
        """The parameters as this form stores them."""
        return self.artifact.signature.params

    @property
    def alignments(self) -> Mapping[str, int]:
        """The tensors that begin at multiples of fewer bytes than usual."""
        by_name: Mapping[str, int] = self.artifact.launch.get("alignments", {})
        return by_name


@dataclass(frozen=True, slots=True)
class Interface:
    """A kernel: `params` are its parameters as its author wrote them, `symbol` its function in C."""

    name: str
    symbol: str
    doc: str | None
    params: tuple[Param, ...]
    dims: tuple[str, ...]
    forms: tuple[Form, ...]

    def binders(self) -> dict[str, tuple[str, int]]:
        """For each dim the tensor and axis that give it.

        DSL0754 for one that nothing gives: packed bytes tell no dims.
        """
        stored = {p.name for f in self.forms for p in f.params if p.packed is not None}
        places: dict[str, tuple[str, int]] = {}
        for p in self.params:
            for axis, text in enumerate(p.dims or ()):
                if text in self.dims and p.name not in stored:
                    places.setdefault(text, (p.name, axis))
        for dim in self.dims:
            if dim not in places:
                raise error(
                    "DSL0754",
                    f"{self.name}: no argument of the C interface gives the dim {dim}",
                    hint="add a parameter that has it, or leave the kernel out of the consumers",
                )
        return places

    def names(self) -> dict[str, str]:
        """What dims and scalars are in C, in functions of a call `c`."""
        scalars = {p.name: f"c->p_{p.name}" for p in self.params if p.dims is None}
        return {**{d: f"c->d_{d}" for d in self.dims}, **scalars}


def dlpack_type(dtype: str, *, packed: bool = False) -> tuple[int, int]:
    """The code and bits of an element as an argument has it; codes of low bits are bytes."""
    if packed:
        return 1, 8
    if dtype in _DLPACK:
        return _DLPACK[dtype]
    digits = dtype[1:]
    if digits.isdigit() and int(digits) > 8:
        return _CODES[dtype[0]], int(digits)
    return (0 if dtype[0] == "i" else 1), 8


def is_float(dtype: str) -> bool:
    """Whether a scalar of the dtype is one of C's floating types."""
    return dtype not in CTYPES or dtype == "f64"


def ctype_of(dtype: str) -> str:
    """A scalar's type in C."""
    return CTYPES.get(dtype, "float")
