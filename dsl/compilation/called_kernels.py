"""The choices of kernels that a program calls, where the call names none."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.expr import Const, Var, substitute
from dslc.tuner.predicted import rounded_up

if TYPE_CHECKING:
    from dslc.checker import Template
    from dslc.checker.module import Prefer
    from dslc.compilation.templates import TemplateOrigin
    from dslc.compiler.ir.expr import Expr
    from dslc.kernels import Sizes


@dataclass(frozen=True, slots=True)
class CallSizes:
    """What the choices of called kernels depend on; equal ones give equal choices.

    `sizes` are those of the program's dims, empty where the machine does not look at them. With `alone`
    each kernel is asked for what a call of it alone would be compiled with.
    """

    sizes: tuple[tuple[str, int], ...] = ()
    alone: bool = False


class CalledKernels:
    """The kernels that a program calls, each as a kernel of its own that is asked for its choices."""

    def __init__(self, program: TemplateOrigin) -> None:
        self._program = program
        self._origins: dict[Template, TemplateOrigin] = {}
        self._with_requirements: bool | None = None  # unknown before the first elaboration

    def sizes(self, dims: Mapping[str, int], sizes: Sizes, *, alone: bool = False) -> CallSizes:
        """Of a call of the program whose fixed dims are `dims`.

        They are rounded as predictions round them, unless a kernel's requirements read dims.
        """
        program = self._program
        if program.template.kind != "program" or not program.machine.facts.chooses_for_calls:
            return CallSizes((), alone)
        known = {d: dims.get(d, sizes(d)) for d in program.signature.dims}
        rounds = self._with_requirements is False
        found = {d: n for d, n in known.items() if n is not None}
        return CallSizes(
            tuple((d, rounded_up(n) if rounds and d not in dims else n) for d, n in found.items()),
            alone,
        )

    def preferences(self, of: CallSizes, used: list[object]) -> Prefer:
        """What chooses for the calls of one elaboration, and adds to `used` what it chose."""
        facts = self._program.machine.facts
        known = {Var(d, INDEX): Const(n, INDEX) for d, n in of.sizes}

        def prefer(template: Template, bound: Mapping[str, Expr]) -> Mapping[str, object]:
            exact = {
                d: int(n)
                for d, expr in bound.items()
                if isinstance(n := constant(simplify(substitute(expr, known))), int)
            }
            fixed = {d: n for d, n in exact.items() if constant(bound[d]) is not None}
            if template.dims_of_choices:
                self._with_requirements = True
            chosen: Mapping[str, object] = {}
            if of.alone:
                chosen = self._as_alone(template, fixed)
            elif facts.choices_seldom_fit or facts.chooses_for_calls:
                chosen = self._origin(template).chosen(fixed, exact.get).config
            used.append((template.name, *sorted(chosen.items())))
            return chosen

        return prefer

    def has_elaborated(self) -> None:
        """Every call was asked for: what none of them said about requirements is known now."""
        self._with_requirements = bool(self._with_requirements)

    def _as_alone(self, template: Template, dims: Mapping[str, int]) -> Mapping[str, object]:
        """What a call of the kernel alone would be compiled with, so that the machine has room for it.

        The first of each where that is refused as well, or is for dims that are not known: elaboration
        asks for these and comes again.
        """
        with contextlib.suppress(DiagnosticError):
            chosen = self._origin(template).specialization({}, {}, dims.get).config
            return {tune: chosen[tune] for tune in template.tunes}
        return {}

    def _origin(self, template: Template) -> TemplateOrigin:
        if template not in self._origins:
            self._origins[template] = self._program.of_kernel(template)
        return self._origins[template]
