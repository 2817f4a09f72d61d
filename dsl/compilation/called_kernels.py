"""The choices of kernels that a program calls, where the call names none."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dslc.compiler.diagnostics import DiagnosticError

if TYPE_CHECKING:
    from dslc.checker import Template
    from dslc.compilation.templates import TemplateOrigin


class CalledKernels:
    """The kernels that a program calls, each as a kernel of its own that is asked for its choices."""

    def __init__(self, program: TemplateOrigin) -> None:
        self._program = program
        self._origins: dict[Template, TemplateOrigin] = {}

    def preferred(self, template: Template, dims: Mapping[str, int]) -> Mapping[str, object]:
        """What the model chooses on machines where first choices seldom fit, else the first of each."""
        if not self._program.machine.facts.choices_seldom_fit:
            return {}
        return self._origin(template).chosen({}, dims.get).config

    def as_alone(self, template: Template, dims: Mapping[str, int]) -> Mapping[str, object]:
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
