"""A kernel for known dims and tune choices: compiled once, called often."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from dslc.calls.arguments import Argument, Array, dim_size, known_dims
from dslc.calls.parameter_storage import as_stored, give_back, opened, pack, refuse_packed, unpack
from dslc.calls.short_calls import CallForms
from dslc.calls.signature import Matched, Parameter, Signature
from dslc.compiler.diagnostics import DiagnosticError, did_you_mean, error
from dslc.compiler.manifest import plain_choice
from dslc.raising import raises_short, short
from dslc.runtime.packing import Packed

if TYPE_CHECKING:
    from dslc.compiler.artifact import Artifact, Param
    from dslc.compiler.ir import TileProgram
    from dslc.compiler.passes.pass_manager import Observer
    from dslc.machines.machine import Executable, Machine, ShortCall
    from dslc.runtime import aie_simulator, nki_simulator

    Run = aie_simulator.Run | nki_simulator.Run

Stages = Mapping[str, Callable[[], str]]


class Specialization:
    """A compiled kernel: call it with the arguments of its parameters, outputs included.

    `fixed` are the dims that it was compiled for, `config` the choice of every tune. `ir_stages` are
    those of `stages` that are Tile IR: before the passes, and after each.
    """

    def __init__(
        self,
        signature: Signature,
        artifact: Artifact,
        machine: Machine,
        executable: Executable,
        stages: Stages,
        ir_stages: tuple[str, ...] = (),
        lower: Callable[..., TileProgram] | None = None,
    ) -> None:
        self.signature = signature
        self.ir_stages = ir_stages
        self._machine = machine
        self._executable = executable
        self._short = CallForms()
        self._stages = stages
        self._lower = lower
        self.artifact = artifact
        self.fixed: Mapping[str, int] = MappingProxyType(artifact.signature.fixed)
        self.config: Mapping[str, int | str] = MappingProxyType(artifact.signature.config)

    @functools.cached_property
    def chosen(self) -> Artifact:
        """What of the artifact runs here: all of it, or that of its variants which fits the CPU."""
        return self._machine.choose(self.artifact)

    @functools.cached_property
    def _stored_bits(self) -> list[tuple[Parameter, Param]]:
        return [
            (p, s)
            for p, s in zip(self.parameters, self.chosen.signature.params, strict=True)
            if p.dims is not None and (p.dtype.is_low_bit or s.packed is not None)
        ]

    @functools.cached_property
    def _plain_bytes(self) -> list[Parameter]:
        return [
            p
            for p, s in zip(self.parameters, self.chosen.signature.params, strict=True)
            if p.is_bytes and s.packed is None
        ]

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.signature.name

    @property
    def target(self) -> str:
        """The target that it was compiled for."""
        return self.artifact.target

    @property
    def alignments(self) -> Mapping[str, int]:
        """The tensors that may begin at multiples of fewer bytes than 16, with how many."""
        alignments_of: dict[str, int] = self.artifact.launch.get("alignments", {})
        return MappingProxyType(alignments_of)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in the caller's order."""
        return self.signature.parameters

    @property
    def stages(self) -> tuple[str, ...]:
        """What `source` can show, first to last."""
        return tuple(self._stages)

    def __repr__(self) -> str:
        choices = ", ".join(f"{k}={v}" for k, v in {**self.fixed, **self.config}.items())
        return f"<dslc specialization {self.name}({choices}) for {self.target}>"

    @property
    def simulated(self) -> Run | None:
        """The last call's run on the machine's simulator, with its timeline; None on a real one."""
        last: Run | None = getattr(self._executable, "last", None)
        return last

    @property
    def stands_in(self) -> str:
        """`emulated` where calls run in an emulator of the machine, whose times are its own."""
        return self._executable.stands_in

    def __call__(self, *args: object, **kwargs: object) -> None:
        """Run the kernel. Dims and tunes may be stated by keyword: they must be its own."""
        if self._short.run(args, kwargs):
            return
        try:
            self._call(args, kwargs)
        except DiagnosticError as failure:
            raise short(failure) from None

    def _call(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        matched = self.signature.match(args, kwargs)
        for name, value in matched.config.items():
            if self.config.get(name) != plain_choice(value):
                own = self.config.get(name, "the compiler's choice")
                text = f"{self.name} was compiled for {name} = {own}, not {value}"
                raise error("DSL0743", text)
        ready = self._machine.prepare(self.parameters, matched.arguments)
        self.launch(ready, matched.dims)
        self._short.add(self.signature, args, kwargs, self.short_call(matched))

    def launch(self, ready: Mapping[str, Argument], stated: Mapping[str, int]) -> None:
        """Run over prepared arguments; DSL0743 where a stated dim is not what they say."""
        for dim, value in stated.items():
            size = self.fixed.get(dim, dim_size(self.parameters, ready, dim))
            if size is not None and size != value:
                text = f"{self.name}: {dim} is {size} in the arguments, not {value} as stated"
                raise error("DSL0743", text)

        refuse_packed(self._plain_bytes, ready)

        def sizes() -> Mapping[str, int]:
            return {**known_dims(self.parameters, ready), **self.fixed}

        facts = self._machine.facts
        rows = {False: facts.packs_read_rows, True: facts.packs_written_rows}
        as_codes = self.chosen.launch.get("codes", ())
        stored = {
            p.name: as_stored(
                p, s, array, sizes, self.signature.dims,
                rows=rows[p.is_written] and p.name not in as_codes,
            )
            for p, s in self._stored_bits
            if isinstance(array := ready[p.name], np.ndarray)
        }  # fmt: skip
        if not stored:
            self._executable.launch(ready, stated)
            return
        bytes_of = dict(stored)
        stored |= {
            p.name: opened(p, s, stored[p.name], sizes())
            for p, s in self._stored_bits
            if p.name in stored and p.name in as_codes
        }
        names = {d for p in self.parameters for d in p.dims or ()}
        dims = {d: v for d, v in sizes().items() if d in names and d.isidentifier()}
        self._executable.launch({**ready, **stored}, {**dims, **stated})
        for p, s in self._stored_bits:
            codes, made = ready[p.name], stored.get(p.name)
            if p.is_written and isinstance(codes, np.ndarray) and isinstance(made, Packed):
                give_back(p, s, made, codes)
            elif p.is_written and made is not None and made is not bytes_of[p.name]:
                bytes_of[p.name][...] = pack(p, s, made)

    def short_call(self, matched: Matched) -> ShortCall | None:
        """A short way for calls like one that was launched, with the arguments as they were passed."""
        arguments = [matched.arguments[p.name] for p in self.parameters]
        return self._executable.short_call(arguments, matched.dims)

    @raises_short
    def source(self, stage: str = "final") -> str:
        """The program's text at a stage: one of `stages`; DSL0745 for any other."""
        if stage not in self._stages:
            near = did_you_mean(str(stage), self._stages)
            every = f"the stages for {self._machine.target.name} are {', '.join(self._stages)}"
            hint = f"{near} ({every})" if near else every
            raise error("DSL0745", f"{self.name} has no stage {stage}", hint=hint)
        return self._stages[stage]()

    def lowered(self, observers: Iterable[Observer] = ()) -> TileProgram:
        """The program after the passes, which are run for it: observers see it after each.

        Its statements know the places that they came from. What was loaded from a package has none.
        """
        assert self._lower is not None, f"{self.name} was not compiled here"
        return self._lower(observers=tuple(observers))

    def binary(self, form: str) -> bytes | None:
        """The machine code in a form, such as `cubin`; None where the machine has no such form."""
        return self._machine.binaries(self.artifact).get(form)

    @raises_short
    def pack(self, param: str, codes: object) -> Array:
        """Codes of a parameter of at most 8 bits (one a byte) in the storage that the kernel loads."""
        return pack(self.signature.parameter(param), self._stored(param), codes)

    @raises_short
    def unpack(self, param: str, packed: object, **dims: int) -> Array:
        """The inverse of `pack`: codes, one a byte. The parameter's shape follows from the dims."""
        known = {**dims, **self.fixed}
        return unpack(self.signature.parameter(param), self._stored(param), packed, known)

    def _stored(self, param: str) -> Param:
        name = self.signature.parameter(param).name
        return next(p for p in self.chosen.signature.params if p.name == name)
