"""A kernel or program as the caller holds it: call it, specialise it, look into it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from dslc.calls.arguments import Array, dim_size, element_bytes, plain_on_device, told_dim
from dslc.calls.description import SignatureOfInstances, docstring, html_table
from dslc.calls.parameter_storage import pack
from dslc.calls.short_calls import CallForms
from dslc.calls.signature import Parameter, Signature
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.raising import raises_short, short
from dslc.runtime.buffers import import_array

if TYPE_CHECKING:
    from dslc.calls.argument_facts import Alignments
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.artifact import Param
    from dslc.compiler.diagnostics import Loc
    from dslc.executors import ExecutorChoice
    from dslc.machines.machine import Machine
    from dslc.tuner.search import Report
    from dslc.tuner.tuning import Result

Sizes = Callable[[str], "int | None"]


class Origin(Protocol):
    """Where specialisations come from: the compiler, or a package of compiled kernels."""

    signature: Signature
    target: str
    machine: Machine

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
        """The one for these dims and choices; `sizes` gives dims that it needs beyond `fixed`.

        `alignments` are the tensors that begin at multiples of fewer bytes than usual, `plain` 8-bit
        parameters whose bytes come as an ordinary array. `at_call` says that a call waits for it:
        DSL0749 where it would have to be compiled then, and must not.
        """

    def stored(self, config: Mapping[str, object], sizes: Sizes) -> tuple[Param, ...] | None:
        """How parameters are stored where the machine compiles for more sizes than are known.

        None where those that are known suffice for a specialisation, which says it.
        """

    def tile(self) -> str:
        """The kernel as `.tile` text."""

    def without(self, names: Collection[str]) -> Origin:
        """The origin of the kernel in which some of its optional parameters are None."""


class Kernel:
    """A kernel or program of a library.

    Calling it with arrays compiles it for what it needs to know of them, once, and runs it:
    `lib.gemm(a, b, c, BM=64)`. Arguments by position or by name; tune choices by name; dims by name
    are checked against the arguments. Outputs are written in place; nothing is returned.
    """

    __signature__ = SignatureOfInstances()
    __name__: str

    def __init__(
        self,
        origin: Callable[[], Origin],
        *,
        autotune: bool = False,
        sources: Mapping[str, str] | None = None,
    ) -> None:
        self._find_origin = origin
        self._autotune = autotune
        self._sources = sources
        self._short = CallForms()
        self._variants: dict[frozenset[str], Kernel] = {}

    @classmethod
    def of(
        cls,
        origin: Origin,
        *,
        autotune: bool = False,
        sources: Mapping[str, str] | None = None,
    ) -> Kernel:
        """The kernel of an origin that is there; `sources` are texts that no file has."""
        kernel = cls(lambda: origin, autotune=autotune, sources=sources)
        kernel.__doc__ = docstring(origin.signature)
        kernel.__name__ = origin.signature.name
        return kernel

    @property
    def _origin(self) -> Origin:
        try:
            return self._find_origin()
        except DiagnosticError as failure:
            raise short(failure, self._sources) from None

    @property
    def origin(self) -> Origin:
        """Where its specialisations come from."""
        return self._origin

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._origin.signature.name

    @property
    def target(self) -> str:
        """The target that it is compiled for."""
        return self._origin.target

    @property
    def doc(self) -> str | None:
        """The kernel's docstring."""
        return self._origin.signature.doc

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in the caller's order."""
        return self._origin.signature.parameters

    @property
    def dims(self) -> tuple[str, ...]:
        """The free dims by name."""
        return self._origin.signature.dims

    @property
    def tunes(self) -> Mapping[str, tuple[object, ...]]:
        """The choices of every tune, in the order of the kernel."""
        return self._origin.signature.tunes

    @property
    def loc(self) -> Loc | None:
        """Where the kernel is defined: an imported one in the file that it comes from."""
        return self._origin.signature.loc

    @property
    def tile(self) -> str:
        """The kernel as `.tile` text."""
        return self._origin.tile()

    def __repr__(self) -> str:
        return f"<dslc kernel {self._origin.signature} for {self.target}>"

    def _repr_html_(self) -> str:
        signature = self._origin.signature
        try:
            tile = self.tile
        except DiagnosticError:  # a package has compiled kernels alone
            tile = None
        return html_table(signature, self.target, tile)

    def __call__(self, *args: object, **kwargs: object) -> None:
        """Run the kernel over arrays of NumPy, torch, JAX or CuPy."""
        if self._short.run(args, kwargs):
            return
        try:
            self._call(args, kwargs)
        except DiagnosticError as failure:
            raise short(failure, self._sources) from None

    def _call(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        origin = self._origin
        signature = origin.signature
        if signature.has_lists:
            spread, named = signature.spread(args, kwargs)
            args, kwargs = tuple(spread), dict(named)
            if self._short.run(args, kwargs):
                return
        matched = signature.match(args, kwargs)
        given = matched.arguments
        absent = [p.name for p in signature.parameters if p.optional and given[p.name] is None]
        if absent:
            options = {name: value for name, value in kwargs.items() if name not in given}
            rest = {name: value for name, value in given.items() if name not in absent}
            self.without(*absent)(**rest, **options)
            return
        ready = origin.machine.prepare(signature.parameters, matched.arguments)

        def size(dim: str) -> int | None:
            return dim_size(signature.parameters, ready, dim)

        if self._autotune and not matched.config:
            from dslc.tuner.calls import tune_for_call

            tune_for_call(origin, ready, size)
        alignments = origin.machine.alignments(signature.parameters, ready)
        plain = plain_on_device(signature.parameters, ready)
        specialization = origin.specialization(
            {}, matched.config, size, alignments, plain=plain, at_call=True
        )
        specialization.launch(ready, matched.dims)
        self._short.add(signature, args, kwargs, specialization.short_call(matched))

    def without(self, *names: str) -> Kernel:
        """The kernel in which some optional parameters are None: it has them no longer.

        DSL0755 for a name that is no optional parameter's.
        """
        absent = frozenset(names)
        if absent not in self._variants:
            origin = self._origin
            for name in names:
                if not origin.signature.parameter(name).optional:
                    raise error("DSL0755", f"{name} of {self.name} is not optional", self.loc)
            variant = Kernel.of(
                origin.without(absent), autotune=self._autotune, sources=self._sources
            )
            self._variants[absent] = variant
        return self._variants[absent]

    @raises_short
    def specialize(self, plain: Iterable[str] = (), /, **dims_and_tunes: object) -> Specialization:
        """The kernel compiled for these dims and choices: `lib.gemm.specialize(K=4096, BM=64)`.

        `plain` names 8-bit weights that calls pass as ordinary arrays, not packed. DSL0230 names the
        dims that must be given.
        """
        origin = self._origin
        config, dims = origin.signature.choices(dims_and_tunes)
        names = frozenset(origin.signature.parameter(name).name for name in plain)
        return origin.specialization(dims, config, lambda dim: None, plain=names)

    @raises_short
    def specialize_for(
        self,
        sizes: Mapping[str, int],
        config: Mapping[str, object] | None = None,
        *,
        unaligned: Iterable[str] = (),
    ) -> Specialization:
        """The kernel compiled as a call with dims of these sizes would compile it.

        Only the dims that it must know are fixed; the others stay free. The tensors of `unaligned`
        begin anywhere, as slices of others do. DSL0230 names the dims that it must know and `sizes`
        lacks, DSL0755 a tensor that it has not.
        """
        origin = self._origin
        choices, _ = origin.signature.choices(dict(config or {}))
        parameters = [origin.signature.parameter(name) for name in unaligned]
        alignments = tuple((p.name, element_bytes(p)) for p in parameters if p.dims is not None)
        return origin.specialization({}, choices, sizes.get, alignments)

    @raises_short
    def tune(
        self,
        *args: object,
        fix: Iterable[str] = (),
        budget: float | None = None,
        top: int = 64,
        jobs: int | None = None,
        executor: ExecutorChoice = None,
        seed: int = 0,
        repack: bool = False,
        report: Report | None = None,
        **named: object,
    ) -> Result:
        """Find the fastest choices for the sizes of these arguments, and use them from now on.

        Arguments as in a call, or dims alone: `lib.gemm.tune(M=16, K=8192, N=8192)`; what is not given
        is random, and nothing that is given is written. `fix` names dims that are compiled in. Choices
        that are given stay (`BM=64`). `budget` is in seconds; the `top` best predicted configurations
        are measured; `jobs` processes compile, or an `executor` of `concurrent.futures`; `repack` lets
        weights be stored in another way than other sizes of the kernel were tuned for. `report` is
        called with the progress.

        Calls without choices take the result, here and in later processes. Ctrl-C keeps the best so
        far. DSL0920 for a kernel that cannot be tuned, DSL0921 where no configuration runs.
        """
        from dslc.tuner.calls import tune_kernel
        from dslc.tuner.tuning import Settings

        settings = Settings(budget, top, jobs, seed, repack, executor=executor)
        if report is not None:
            settings = replace(settings, report=report)
        result = tune_kernel(self._origin, args, named, tuple(fix), settings)
        self._short = CallForms()  # they launch what was compiled before
        return result

    @raises_short
    def source(self, stage: str = "final", **dims_and_tunes: object) -> str:
        """The program's text at a stage: `tile`, `ir`, after each pass by its name, or `final`."""
        if stage == "tile":
            return self.tile
        return self.specialize(**dims_and_tunes).source(stage)

    @raises_short
    def pack(self, param: str, codes: object, **dims_and_tunes: object) -> Array:
        """Codes of a parameter of at most 8 bits, one a byte, in the storage that the kernel loads.

        The storage follows from the tune choices and the sizes of the weights: pack with the choices of
        the call, and with those dims that the codes' shape does not tell (`K // 2` tells K). What this
        gives and its copies know it, so that another kernel refuses them (DSL0768); a tensor that torch
        makes of it does not. DSL0746 for a parameter without packed storage, DSL079x for codes that do
        not fit.
        """
        origin = self._origin
        parameter = origin.signature.parameter(param)
        config, dims = origin.signature.choices(dims_and_tunes)
        array = import_array(codes, param=param)

        def size(dim: str) -> int | None:
            return dims.get(dim, told_dim(parameter, array, dim))

        stored = origin.stored(config, size)
        if stored is not None:
            return pack(parameter, next(p for p in stored if p.name == parameter.name), array)
        return origin.specialization({}, config, size).pack(param, array)

    @raises_short
    def unpack(self, param: str, packed: object, **dims_and_tunes: object) -> Array:
        """The inverse of `pack`: `lib.gemm.unpack("w", packed, K=4096, N=4096)`."""
        origin = self._origin
        config, dims = origin.signature.choices(dims_and_tunes)
        return origin.specialization({}, config, dims.get).unpack(param, packed, **dims)
