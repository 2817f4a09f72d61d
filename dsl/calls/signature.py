"""What a kernel is to its caller: parameters, dims and tunes, and how a call's arguments match them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dslc.calls.launch_options import OPTIONS, as_option
from dslc.compiler.diagnostics import DiagnosticError, Loc, did_you_mean, error
from dslc.compiler.dtypes import DType, Kind, parse_dtype
from dslc.lists_of_tensors import has_lists, spread_arguments

if TYPE_CHECKING:
    from dslc.checker import ParamInfo


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: `dims` is the text of each axis, None for a scalar.

    `mode` is in, out or inout. `packed` is `row` where the storage of a low-bit tensor is fixed.
    `strides` are the texts of those that the kernel names, in elements. Of an `optional` one a call may
    give None, or nothing.
    """

    name: str
    dtype: DType
    dims: tuple[str, ...] | None = None
    mode: str = "in"
    packed: str | None = None
    strides: tuple[str, ...] | None = None
    optional: bool = False

    def __str__(self) -> str:
        mode = "" if self.mode == "in" else f"{self.mode} "
        dims = "" if self.dims is None else f"[{', '.join(self.dims)}]"
        packed = f" packed {self.packed}" if self.packed else ""
        optional = " | None" if self.optional else ""
        return f"{self.name}: {mode}{self.dtype}{dims}{packed}{optional}"

    @property
    def rank(self) -> int:
        """The number of axes, 0 for a scalar."""
        return len(self.dims or ())

    @property
    def may_be_packed(self) -> bool:
        """Whether a call may pass its packed bytes in place of its elements."""
        return self.dtype.is_low_bit or self.is_bytes

    @property
    def is_bytes(self) -> bool:
        """Whether it is read only and of an 8-bit type, of which a kernel may pack the weights."""
        numbers = self.dtype.kind in (Kind.INT, Kind.UINT, Kind.FLOAT)
        return self.rank > 0 and self.dtype.bits == 8 and numbers and not self.is_written

    @property
    def is_written(self) -> bool:
        """Whether the kernel writes it."""
        return self.mode != "in"


def parameter_of(p: ParamInfo) -> Parameter:
    """The parameter as its kernel declares it."""
    return Parameter(p.name, p.dtype, p.dims, p.mode, p.packed, p.strides, p.optional)


@dataclass(frozen=True, slots=True)
class Matched:
    """A call's arguments by parameter, its tune choices, and the dims that the caller states."""

    arguments: dict[str, object]
    config: dict[str, object] = field(default_factory=dict)
    dims: dict[str, int] = field(default_factory=dict)


def _items(argument: object) -> list[object] | None:
    return list(argument) if isinstance(argument, list | tuple) else None


@dataclass(frozen=True, slots=True)
class Signature:
    """The caller's side of a kernel or program; `tunes` are the choices in its order."""

    name: str
    parameters: tuple[Parameter, ...]
    dims: tuple[str, ...] = ()
    tunes: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    doc: str | None = None
    loc: Loc | None = None

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parameters))})"

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name; DSL0755 where there is none."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise self._unknown(name, [p.name for p in self.parameters], "parameter")

    @property
    def has_lists(self) -> bool:
        """Whether some parameters may be the items of a list."""
        return has_lists([p.name for p in self.parameters])

    def spread(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[Sequence[object], Mapping[str, object]]:
        """Arguments with the items of lists as arguments of their own."""
        if not self.has_lists:
            return args, kwargs
        names = [p.name for p in self.parameters]

        def wrong(text: str) -> DiagnosticError:
            return error("DSL0755", text, self.loc, hint=f"the signature is {self}")

        return spread_arguments(names, args, kwargs, _items, wrong)

    def match(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Matched:
        """Arguments to parameters; DSL0755 or DSL0741 where they do not fit."""
        args, kwargs = self.spread(args, kwargs)
        names = [p.name for p in self.parameters]
        if len(args) > len(names):
            raise self._count(len(args))
        arguments = dict(zip(names, args, strict=False))
        options: dict[str, object] = {}
        for name, value in kwargs.items():
            if name not in names:
                options[name] = value
            elif name in arguments:
                raise error("DSL0741", f"{self.name} got the argument {name} twice", self.loc)
            else:
                arguments[name] = value
        for parameter in self.parameters:
            if parameter.optional:
                arguments.setdefault(parameter.name, None)
        if len(arguments) < len(names):
            self.choices(options)  # a misspelt name says more than a missing argument
            raise self._missing([n for n in names if n not in arguments])
        return Matched(arguments, *self.choices(options)) if options else Matched(arguments)

    def choices(self, options: Mapping[str, object]) -> tuple[dict[str, object], dict[str, int]]:
        """Keywords divided into choices (tunes and launch options) and dims; DSL0755 for others."""
        config: dict[str, object] = {}
        dims: dict[str, int] = {}
        for name, value in options.items():
            if name in self.tunes:
                config[name] = as_choice(name, value, self.tunes[name])
            elif name in self.dims:
                dims[name] = as_dim(name, value)
            elif name in OPTIONS:
                config[name] = as_option(name, plain_number(value))
            else:
                known = [*(p.name for p in self.parameters), *self.tunes, *self.dims]
                raise self._unknown(name, known, "parameter, tune or dim")
        return config, dims

    def _count(self, given: int) -> DiagnosticError:
        count = len(self.parameters)
        takes = f"{count} argument{'' if count == 1 else 's'}"
        text = f"{self.name} takes {takes}, got {given}"
        return error("DSL0755", text, self.loc, hint=f"the signature is {self}")

    def _missing(self, names: Sequence[str]) -> DiagnosticError:
        text = f"{self.name} needs {'an argument' if len(names) == 1 else 'arguments'} for "
        text += ", ".join(names)
        return error("DSL0755", text, self.loc, hint=f"the signature is {self}")

    def _unknown(self, name: str, known: Iterable[str], what: str) -> DiagnosticError:
        known = list(known)
        hint = did_you_mean(name, known) or (f"there are {', '.join(known)}" if known else None)
        return error("DSL0755", f"{self.name} has no {what} {name}", self.loc, hint=hint)


def plain_number(value: object) -> object:
    """A NumPy scalar as Python's number; anything else as it is."""
    item = getattr(value, "item", None)
    return item() if item is not None and getattr(value, "ndim", None) == 0 else value


def as_choice(name: str, value: object, choices: Sequence[object] = ()) -> object:
    """The choice of a tune, with a dtype as the compiler's own; DSL0758 for what is no single value.

    `choices` are those that the error names.
    """
    choice = plain_number(value)
    if isinstance(choice, DType):
        return parse_dtype(choice.name)
    try:
        hash(choice)
    except TypeError:
        kind = type(choice).__name__
        hint = f"the choices are {', '.join(map(str, choices))}" if choices else None
        text = f"the tune {name} takes one choice, not a {kind}"
        raise error("DSL0758", text, hint=hint) from None
    return choice


def as_dim(name: str, value: object) -> int:
    """The value of a dim as the caller gives it; DSL0758 where it is no whole number >= 0."""
    number = plain_number(value)
    if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
        return number
    raise error("DSL0758", f"the dim {name} is a whole number of at least 0, not {value!r}")
