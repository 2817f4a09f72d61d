"""Specialisations of a checked kernel: elaborated for known dims and tune choices when asked for."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dslc.calls import argument_facts
from dslc.calls.argument_facts import Alignments, Divisors, Facts
from dslc.calls.launch_options import split
from dslc.calls.signature import Signature, as_dim, parameter_of
from dslc.compilation.building import BuildOptions, build
from dslc.compilation.called_kernels import CalledKernels, CallSizes
from dslc.compilation.dims_worth_knowing import worth_knowing
from dslc.compilation.fallback_choices import Chosen, Replacements, others
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError
from dslc.compiler.fingerprint import digest
from dslc.compiler.ir.expr import free_vars
from dslc.compiler.manifest import signature_of
from dslc.compiler.passes.pass_manager import run_passes
from dslc.machines.registry import find_machine
from dslc.tuner.choices import TunedChoices
from dslc.tuner.predicted import PredictedChoices
from dslc.tuner.preferred import PreferredBlocks

if TYPE_CHECKING:
    from dslc.checker import NeedsDims, Template
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.artifact import Param
    from dslc.compiler.ir import TileProgram
    from dslc.kernels import Sizes

_MOST_SPECIALIZATIONS = 1024  # kept in memory per kernel; the oldest go first
_FIRST = "the first of each"  # where choices are from
_NAME = re.compile(r"[A-Za-z_]\w*")
_MOST_PROGRAMS = 512  # elaborated and not compiled: as many as a choice of tiles looks at


@dataclass(frozen=True, slots=True)
class Elaborated:
    """A kernel's Tile IR before the passes, with the choices and fixed dims that it was made for."""

    program: TileProgram
    choices: dict[str, object]
    schedule: dict[str, int]
    dims: dict[str, int]
    required: frozenset[str]  # the dims that its own requirements are about


class TemplateOrigin:
    """The origin of a kernel's specialisations, safe to be used by several threads.

    A dim that a tile's extent needs is fixed by the call's arguments, one specialisation a value;
    which dims these are is learnt from the checker and remembered.
    """

    def __init__(
        self,
        template: Template,
        options: BuildOptions,
        tile: Callable[[], str],
        sources: Mapping[str, str] | None = None,
    ) -> None:
        self.signature = _signature(template)
        self.target = options.target
        self.template = template
        self.options = options
        self._tile = tile
        self.machine = find_machine(options.target, options.code)
        define = template.define
        self._define = {n: define[n] for n in template.tunes if n in define}
        self._settled: dict[tuple[object, ...], dict[str, object]] = {}
        self.fixed = {d: as_dim(d, define[d]) for d in template.dims if d in define}
        self._static: tuple[str, ...] = ()
        self._made: dict[tuple[object, ...], Specialization] = {}
        self._programs: dict[tuple[object, ...], TileProgram] = {}
        self._lock = threading.RLock()  # an observer of a pass may call the kernel
        self.sources: Mapping[str, str] = sources or {}  # texts of the imports
        self.tuned = TunedChoices(self)
        self.predicted = PredictedChoices(self)
        self._replacements = Replacements()
        self._preferred = PreferredBlocks(self)
        self._called = CalledKernels(self)

    def tile(self) -> str:
        """The kernel as `.tile` text."""
        return self._tile()

    def of_kernel(self, template: Template) -> TemplateOrigin:
        """The origin of a kernel that this program calls."""
        sources = {**self.sources, "kernel": template.name}
        return TemplateOrigin(template, self.options, self.tile, sources)

    def without(self, names: Collection[str]) -> TemplateOrigin:
        """The origin of the kernel in which some of its optional parameters are None."""
        sources = {**self.sources, "without": " ".join(sorted(names))}
        return TemplateOrigin(self.template.without(names), self.options, self._tile, sources)

    def identity(self) -> str:
        """The SHA-256 (hex) of what its choices mean: the source, its imports and definitions.

        Dims that are defined are not in it.
        """
        define = {n: str(v) for n, v in self.template.define.items() if n not in self.fixed}
        parts = {f"import {i}": t for i, (_, t) in enumerate(sorted(self.sources.items()))}
        return digest({"tile": self._tile(), "define": repr(sorted(define.items())), **parts})

    @property
    def open_tunes(self) -> Mapping[str, tuple[object, ...]]:
        """The tunes that no definition has settled, with their choices."""
        define = self.template.define
        return {n: c for n, c in self.signature.tunes.items() if n not in define}

    def specialization(
        self,
        fixed: Mapping[str, int],
        config: Mapping[str, object],
        sizes: Sizes,
        alignments: Alignments = (),
        *,
        plain: frozenset[str] = frozenset(),
        at_call: bool = False,
    ) -> Specialization:
        """The one for these dims and choices, from memory where it was made before."""
        dims = {**self.fixed, **fixed}

        def made(chosen: Chosen) -> Specialization:
            known = {**chosen.fixed_dims, **dims}
            settled = self.settled(chosen.config, lambda d: known.get(d, sizes(d)))
            choices, schedule = split(settled, self.signature.tunes)
            self._fix(known, self._needed, sizes)
            facts = self._facts(known, sizes, alignments, plain)
            calls = self._called.sizes(known, sizes, alone=chosen.calls_as_alone)
            key = _key(known, choices, schedule, facts, calls)
            return self._made.get(key) or self._make(
                known, choices, schedule, sizes, alignments, plain, at_call, chosen.calls_as_alone
            )

        if config:
            return made(Chosen(config, {}, "given"))
        chosen = self.chosen(dims, sizes)
        facts = self._facts(dims, sizes, alignments, plain)
        call = _key({**chosen.fixed_dims, **dims}, dict(chosen.config), {}, facts)
        return self._replacements.first_possible(
            call, chosen, made, lambda refused: others(self, dims, sizes, refused)
        )

    @property
    def defaults(self) -> Mapping[str, object]:
        """The first choices that the requirements leave, whatever the sizes are."""
        return self.settled({}, self.fixed.get)

    def settled(self, config: Mapping[str, object], sizes: Sizes) -> dict[str, object]:
        """Choices and launch options completed: by definitions, then by the first that are allowed.

        DSL0217 where the requirements leave none. Where it is the sizes that leave none, they are not
        looked at: the call meets the requirement that it breaks.
        """
        given = {**self._define, **config}
        if self.signature.tunes.keys() <= given.keys():
            return given
        about = self.template.dims_of_choices
        known = tuple((d, n) for d in about if (n := sizes(d)) is not None)
        key = (*sorted(given.items()), *known)
        if key not in self._settled:
            own = {n: v for n, v in given.items() if n in self.signature.tunes}
            try:
                chosen = self.template.choose(dict(known), own)
            except DiagnosticError:
                chosen = self.template.choose(self.fixed, own)
            if len(self._settled) >= _MOST_SPECIALIZATIONS:
                self._settled.clear()
            self._settled[key] = {**given, **chosen}
        return self._settled[key]

    @functools.cached_property
    def _counts(self) -> frozenset[str]:
        """The dims that are the first extent of tensors alone."""
        shapes = [p.dims for p in self.signature.parameters if p.dims]
        return argument_facts.counting(
            [[_NAME.findall(extent) for extent in shape] for shape in shapes]
        )

    @property
    def _needed(self) -> tuple[str, ...]:
        """The dims that a kernel is compiled for: those found to be needed, or all."""
        return self.signature.dims if self.machine.target.static else self._static

    def chosen(self, dims: Mapping[str, int], sizes: Sizes) -> Chosen:
        """What a call that names no choices gets: what was tuned for its sizes, else what is predicted.

        Where nothing is predicted the first of all choices holds.
        """
        tuned = self.tuned.find(lambda d: dims.get(d, sizes(d)))
        if tuned is not None:
            # What was measured is what runs, the dims fixed as they were.
            return Chosen(
                tuned.config, tuned.fixed_dims, f"tuned, {tuned.record.seconds * 1e6:.4g} us"
            )
        if self.machine.target.static:
            config = self._preferred.find(dims, sizes)
            return Chosen(config, {}, "by the model of the engines" if config else _FIRST)
        predicted = self.predicted.find(dims, sizes)
        if predicted is not None:
            return Chosen(predicted.config, {}, str(predicted))
        return Chosen({}, {}, _FIRST)

    def elaborated(
        self,
        fixed: Mapping[str, int],
        config: Mapping[str, object],
        sizes: Sizes,
        *,
        exact: Sizes | None = None,
    ) -> Elaborated:
        """The Tile IR that `specialization` would compile for these dims and choices.

        It relies on what divides the `exact` sizes, which are the same where none are given.
        """
        dims = {**self.fixed, **fixed}
        config = self.settled(config, lambda d: dims.get(d, sizes(d)))
        choices, schedule = split(config, self.signature.tunes)
        self._fix(dims, self._needed, sizes)
        with self._lock:
            program = None
            while program is None:
                facts = self._facts(dims, exact or sizes, (), frozenset())
                calls = self._called.sizes(dims, sizes)
                key = _key(dims, choices, {}, None, calls)
                program = self._programs.get(key) or self._elaborate(dims, choices, sizes, calls)
            if len(self._programs) >= _MOST_PROGRAMS and key not in self._programs:
                del self._programs[next(iter(self._programs))]
            self._programs[key] = program
            informed = argument_facts.with_facts(program, facts, self.machine.target)
            required = {v.name for r in program.requires for v in free_vars(r.condition)}
            return Elaborated(informed, choices, schedule, dims, frozenset(required))

    def stored(self, config: Mapping[str, object], sizes: Sizes) -> tuple[Param, ...] | None:
        """How the kernel stores its parameters, where it is compiled for more sizes than are known.

        The passes choose the storage, and ask for no dim on which it does not depend. None where the
        sizes that are known suffice to compile the kernel.
        """
        if all(d in self.fixed or sizes(d) is not None for d in self._needed):
            return None
        elaborated = self.elaborated({}, config, sizes)
        final = run_passes(elaborated.program, self.machine.passes(elaborated.schedule))
        return signature_of(final, elaborated.choices).params

    def _make(
        self,
        dims: dict[str, int],
        choices: dict[str, object],
        schedule: dict[str, int],
        sizes: Sizes,
        alignments: Alignments,
        plain: frozenset[str],
        at_call: bool,
        calls_as_alone: bool,
    ) -> Specialization:
        with self._lock:
            program = None
            while program is None:
                facts = self._facts(dims, sizes, alignments, plain)
                calls = self._called.sizes(dims, sizes, alone=calls_as_alone)
                key = _key(dims, choices, schedule, facts, calls)
                if key in self._made:
                    return self._made[key]
                used: list[object] = []
                program = self._elaborate(dims, choices, sizes, calls, used)
            # Calls of other sizes may have led to the same choices for all kernels.
            same = _key(dims, choices, schedule, facts, tuple(used))
            if same in self._made:
                self._made[key] = self._made[same]
                return self._made[key]
            program = argument_facts.with_facts(program, facts, self.machine.target)
            specialization = build(
                program, choices, self.signature, self.machine, self.options, self._tile, schedule,
                at_call=at_call,
            )  # fmt: skip
            if len(self._made) >= _MOST_SPECIALIZATIONS:
                del self._made[next(iter(self._made))]
            self._made[key] = self._made[same] = specialization
            return specialization

    def _elaborate(
        self,
        dims: dict[str, int],
        choices: dict[str, object],
        sizes: Sizes,
        calls: CallSizes,
        used: list[object] | None = None,
    ) -> Any:
        """The Tile IR, or None after fixing more dims that it was found to need."""
        from dslc.checker import NeedsDims

        try:
            prefer = self._called.preferences(calls, [] if used is None else used)
            program = self.template.elaborate(dims, choices, prefer)
            self._called.has_elaborated()
            more = self._worth_knowing(program, dims, sizes)
            return None if self._fix(dims, more, sizes) else program
        except NeedsDims as needs:
            self._static = tuple(dict.fromkeys((*self._static, *needs.dims)))
            if not self._fix(dims, needs.dims, sizes):
                raise self._unfixed(needs) from None
            return None

    def _worth_knowing(
        self, program: TileProgram, dims: Mapping[str, int], sizes: Sizes
    ) -> tuple[str, ...]:
        """More dims that a kernel is compiled for, since a machine gains by what it knows of them."""
        divisors = self.divisors(dims, sizes)
        found = worth_knowing(program, self.machine.target, divisors, self._counts)
        more = tuple(d for d in self.signature.dims if d in found and d not in self._static)
        self._static = (*self._static, *more)
        return more

    def _facts(
        self,
        dims: Mapping[str, int],
        sizes: Sizes,
        alignments: Alignments,
        plain: frozenset[str],
    ) -> Facts:
        """What may be relied on of free dims, of where tensors begin and how they come."""
        return Facts(self.divisors(dims, sizes), alignments, plain)

    def divisors(self, dims: Mapping[str, int], sizes: Sizes) -> Divisors:
        """What divides the dims beyond `dims`, as far as a kernel may rely on it."""
        free = [d for d in self.signature.dims if d not in dims]
        return argument_facts.divisor_facts(self.machine.target, free, sizes, self._counts)

    def _fix(self, dims: dict[str, int], names: Sequence[str], sizes: Sizes) -> bool:
        """Fix dims by the arguments' shapes; whether any was."""
        before = len(dims)
        for name in names:
            if name not in dims and (size := sizes(name)) is not None:
                dims[name] = size
        return len(dims) > before

    def _unfixed(self, needs: NeedsDims) -> DiagnosticError:
        """The checker's finding, with what to write in Python."""
        given = ", ".join(f"{name}=..." for name in needs.dims)
        hint = f"in Python: {self.signature.name}.specialize({given}), or define={{...}} in compile"
        first, *rest = needs.diagnostics
        said = f"{first.hint}; {hint}" if first.hint else hint
        named = Diagnostic(first.code, first.message, first.loc, said, first.labels, first.severity)
        return DiagnosticError([named, *rest])


def _key(
    dims: Mapping[str, int],
    choices: Mapping[str, object],
    schedule: Mapping[str, int],
    facts: Facts | None,
    calls: object = None,
) -> tuple[object, ...]:
    settled = (*sorted(dims.items()), *sorted(choices.items()), *sorted(schedule.items()))
    return (*settled, facts, calls)


def _signature(template: Template) -> Signature:
    t = template
    return Signature(t.name, tuple(map(parameter_of, t.params)), t.dims, t.tunes, t.doc, t.loc)
