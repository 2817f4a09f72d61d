"""Sessions: kernels of one machine, and the buffers that they keep there between dispatches.

    session = dslc.Session("aie:npu2")
    layer = session.weights(("layer", 5), {"wq": tensors["...q_proj"], ...})
    first = session.dispatch(library.attention_input, ("input", 5), **layer, S=256)
    second = session.dispatch(library.flash_attention, ("attention", 5), q=first["q"], ...)
    first(x=activation)                  # the one tensor that the host moves
    second()                             # over what the first has written

Three lifetimes: artifacts stay on disk, in the compile cache; a kernel that is loaded stays as long as
the session; buffers as long as their key, or whoever holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dslc.compiler.diagnostics import error
from dslc.environment import default_target
from dslc.machines.registry import find_machine, resolve_target
from dslc.runtime.elements import Array, element_name
from dslc.runtime.expression import evaluate
from dslc.runtime.memory import Buffer

if TYPE_CHECKING:
    from dslc.calls.signature import Parameter
    from dslc.compilation.specialization import Specialization
    from dslc.kernels import Kernel
    from dslc.runtime.memory import Memory, Traffic


class Dispatch(Mapping[str, Buffer]):
    """A kernel or program with buffers for its tensors, by name."""

    def __init__(self, made: Specialization, buffers: dict[str, Buffer], empty: set[str]) -> None:
        self.specialization = made
        self._buffers, self._empty = buffers, empty

    def __call__(self, **given: Any) -> Dispatch:
        """Run it; arrays that are given are written to the buffers of their parameters first.

        Scalars are given at every call. DSL0794 where an input was never written, DSL0755 for a name
        that is no parameter.
        """
        scalars: dict[str, object] = {}
        for name, value in given.items():
            parameter = self.specialization.signature.parameter(name)
            if parameter.dims is None:
                scalars[name] = value
            elif isinstance(value, Buffer):
                self._buffers[name] = value
            else:
                self._buffers[name].write(value)
            self._empty.discard(name)
        if self._empty:
            text = f"{self.specialization.name}: {min(self._empty)} was never written"
            raise error(
                "DSL0794", text, hint="give an array at the call, or a buffer to the dispatch"
            )
        arguments = {name: buffer.argument for name, buffer in self._buffers.items()}
        self.specialization(**arguments, **scalars)
        return self

    def __getitem__(self, name: str) -> Buffer:
        return self._buffers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)


class Session:
    """The dispatches and weights of one machine, by key. `target` as in `dslc.compile`."""

    def __init__(self, target: str | None = None) -> None:
        machine = find_machine(target or default_target())
        self.target = machine.target.name
        self.memory: Memory = machine.memory()
        self._weights: dict[Hashable, dict[str, Buffer]] = {}
        self._dispatches: dict[Hashable, Dispatch] = {}
        self._loaded: dict[tuple[object, ...], Specialization] = {}

    @property
    def traffic(self) -> Traffic:
        """The bytes that the host has moved to buffers and from them."""
        return self.memory.traffic

    def weights(
        self, key: Hashable, arrays: Mapping[str, Array] | Callable[[], Mapping[str, Array]]
    ) -> dict[str, Buffer]:
        """Buffers with these arrays, which are read once for a key; a function is called that once.

        Arrays of a memory-mapped file go from its pages straight into the buffers; machines that read
        the host's memory take them as they are.
        """
        if key not in self._weights:
            by_name = arrays() if callable(arrays) else arrays
            self._weights[key] = {
                n: self.memory.hold(a, element_name(a)) for n, a in by_name.items()
            }
        return dict(self._weights[key])

    def dispatch(self, kernel: Kernel, key: Hashable, /, **given: Any) -> Dispatch:
        """The dispatch of a key: made at the first call for it, with buffers for what is not given.

        `given` are buffers by parameter, dims and tunes; buffers tell the dims of their shapes. DSL0230
        for dims that nothing tells, DSL0791 for a key of another kernel, or a kernel of
        another machine.
        """
        if key in self._dispatches:
            dispatch = self._dispatches[key]
            if dispatch.specialization.name != kernel.name:
                text = (
                    f"the key {key!r} is that of {dispatch.specialization.name}, not {kernel.name}"
                )
                raise error("DSL0791", text)
            return dispatch
        if resolve_target(kernel.target) != self.target:
            text = f"{kernel.name} is compiled for {kernel.target}, the session's is {self.target}"
            raise error("DSL0791", text)
        names = {p.name for p in kernel.parameters}
        buffers: dict[str, Buffer] = {n: b for n, b in given.items() if n in names}
        stated = {n: v for n, v in given.items() if n not in names}
        specialization = self._load(kernel, {**_dims(kernel.parameters, buffers), **stated})
        dims = {**_dims(kernel.parameters, buffers), **stated, **specialization.fixed}
        numbers = {n: int(v) for n, v in dims.items() if isinstance(v, int)}
        empty: set[str] = set()
        for parameter in kernel.parameters:
            if parameter.dims is not None and parameter.name not in buffers:
                shape = tuple(int(evaluate(text, numbers)) for text in parameter.dims)
                buffers[parameter.name] = self.memory.empty(shape, parameter.dtype.name)
                if parameter.mode != "out":
                    empty.add(parameter.name)
        ordered = {p.name: buffers[p.name] for p in kernel.parameters if p.dims is not None}
        self._dispatches[key] = Dispatch(specialization, ordered, empty)
        return self._dispatches[key]

    def release(self, key: Hashable) -> None:
        """Forget the weights and the dispatch of a key; buffers that others hold stay."""
        self._weights.pop(key, None)
        self._dispatches.pop(key, None)

    def _load(self, kernel: Kernel, dims: Mapping[str, object]) -> Specialization:
        """The kernel for these dims, loaded once."""
        key = (kernel.origin, *sorted(dims.items()))
        if key not in self._loaded:
            self._loaded[key] = kernel.specialize(**dims)
        return self._loaded[key]


def _dims(parameters: tuple[Parameter, ...], buffers: Mapping[str, Buffer]) -> dict[str, int]:
    """The dims that the shapes of buffers tell."""
    sizes: dict[str, int] = {}
    for p in parameters:
        if p.name in buffers and not p.dtype.is_low_bit:
            for text, size in zip(p.dims or (), buffers[p.name].shape, strict=False):
                if text.isidentifier():
                    sizes.setdefault(text, size)
    return sizes
