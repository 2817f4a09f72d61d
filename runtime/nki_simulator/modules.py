"""The modules that a kernel's source imports, made for one run.

The source runs with an `__import__` of its own, so that `nki` is the simulator within it alone: nothing
is entered in sys.modules, and a real `nki` that is installed stays what it is for everyone else.
"""

from __future__ import annotations

import enum
import importlib
import math
import sys
import types
from collections.abc import Callable, Collection
from typing import Any, NoReturn

from dslc.runtime.nki_simulator.elements import array_dtype
from dslc.runtime.nki_simulator.engines.matmul import PerfMode
from dslc.runtime.nki_simulator.engines.operators import Operator
from dslc.runtime.nki_simulator.engines.reductions import ReduceCommand
from dslc.runtime.nki_simulator.engines.transfers import DgeMode, OobMode
from dslc.runtime.nki_simulator.interface.instructions import INSTRUCTION_ROWS
from dslc.runtime.nki_simulator.interface.operators import KINDS
from dslc.runtime.nki_simulator.language import DTYPES, Language, language_module
from dslc.runtime.nki_simulator.machine import MIN_CYCLES
from dslc.runtime.nki_simulator.neuroncore import INSTRUCTIONS, Core, Engine, Instruction
from dslc.runtime.nki_simulator.scalars import VirtualRegister, number_of
from dslc.runtime.nki_simulator.tensors import PSUM, Tensor
from dslc.runtime.nki_simulator.trace import SEQUENCER
from dslc.runtime.nki_simulator.whole_numbers import by_whole_numbers, is_known

for _family in (
    "activation",
    "elementwise",
    "patterns",
    "segments",
    "statistics",
):  # enter their instructions
    importlib.import_module(f"dslc.runtime.nki_simulator.engines.{_family}")

_VERSIONS = {2: "gen2", 3: "gen3", 4: "gen4"}


class Kernel:
    """A function under `nki.jit`; in brackets the grid of programs that run it."""

    def __init__(self, function: Callable[..., Any], grid: int = 1) -> None:
        self.function, self.grid = function, grid
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the body."""
        return self.function(*args, **kwargs)

    def __getitem__(self, grid: Any) -> Kernel:
        sizes = grid if isinstance(grid, tuple) else (grid,)
        return Kernel(self.function, math.prod(int(n) for n in sizes))


def _jit(function: Any = None, **_: Any) -> Any:
    return Kernel if function is None else Kernel(function)


class NkiInstruction:
    """What an instruction gives back: it can be made to wait for others."""

    def __init__(self, core: Core, numbers: range) -> None:
        self._core, self._numbers, self._loops = core, numbers, tuple(core.loops)

    def depends_on(self, *producers: NkiInstruction, kind: Any = None) -> NkiInstruction:
        """Run after others, which are of the same compiled loops or of those around."""
        core = self._core
        for other in producers:
            if not isinstance(other, NkiInstruction):
                core.fail("signature", f"depends_on takes instructions, not {type(other).__name__}")
            core.require(
                other._loops == self._loops[: len(other._loops)],
                "dependency",
                "an instruction of a compiled loop is waited for outside of it",
            )
            for number in self._numbers[:1]:
                core.trace.ordered.setdefault(number, set()).update(other._numbers[-1:])
        return self


def _bound(core: Core, name: str, function: Instruction) -> Callable[..., NkiInstruction]:
    """An instruction as the kernel calls it: the core knows its line and name, keywords come first."""
    run = function if core.computes else by_whole_numbers(function)
    row = INSTRUCTION_ROWS[name]
    places = {parameter: i for i, parameter in enumerate(row.signature.parameters)}
    taken = [(p, places[p], KINDS[kind]) for p, kind in row.operators.items()]

    def call(*args: Any, **kwargs: Any) -> NkiInstruction:
        core.at(sys._getframe(1))
        core.doing = name
        kwargs.pop("name", None)
        first = len(core.trace.steps)
        core.require(core.version >= row.since, "version", f"{name} needs NeuronCore-v{row.since}")
        for parameter, place, allowed in taken:
            value = kwargs.get(parameter, args[place] if place < len(args) else None)
            if value is not None:
                _check_operator(core, parameter, value, allowed)
        try:
            run(core, *args, **kwargs)
        except TypeError as wrong:
            if not core.computes or wrong.__traceback__ is None or wrong.__traceback__.tb_next:
                raise
            text = str(wrong).replace(f"{name}()", "it").replace("'core'", "")
            core.fail("signature", text)
        core.doing = ""
        return NkiInstruction(core, range(first, len(core.trace.steps)))

    call.__name__ = name
    call.__doc__ = function.__doc__
    return call


def _check_operator(core: Core, parameter: str, value: Any, allowed: Collection[str]) -> None:
    """An operator that the page of the instruction lists, on a machine that has it."""
    if not isinstance(value, Operator) or value.name not in allowed:
        core.fail("operator", f"{parameter}={value!r} is none of {', '.join(sorted(allowed))}")
    core.require(
        core.version >= value.since, "version", f"{value!r} needs NeuronCore-v{value.since}"
    )


def _missing(core: Core, name: str) -> Callable[..., NoReturn]:
    """An instruction that is documented, and is not simulated."""

    def call(*_: Any, **__: Any) -> NoReturn:
        core.at(sys._getframe(1))
        core.fail("simulator", f"nisa.{name} is documented and not simulated")

    return call


def _located(core: Core, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        core.at(sys._getframe(1))
        core.doing = ""
        result = function(*args, **kwargs)
        core.doing = ""
        return result

    call.__name__ = getattr(function, "__name__", "function")
    return call


def _isa(core: Core) -> types.ModuleType:
    module = types.ModuleType("nki.isa", "NKI's instructions, simulated.")
    names: dict[str, Any] = {n: _bound(core, n, f) for n, f in INSTRUCTIONS.items()}
    names |= {n: _located(core, f) for n, f in _registers(core).items()}
    names |= {n: _missing(core, n) for n, row in INSTRUCTION_ROWS.items() if not row.simulated}
    names |= {
        "engine": Engine,
        "reduce_cmd": ReduceCommand,
        "dge_mode": DgeMode,
        "oob_mode": OobMode,
        "matmul_perf_mode": PerfMode,
        "dma_engine": enum.Enum("dma_engine", ["dma", "gpsimd_dma"]),
        "VirtualRegister": VirtualRegister,
        "NkiInstruction": NkiInstruction,
        "nc_version": types.SimpleNamespace(**{name: name for name in _VERSIONS.values()}),
        "get_nc_version": lambda: _VERSIONS[core.version],
    }
    module.__dict__.update(names)
    return module


def _registers(core: Core) -> dict[str, Callable[..., Any]]:
    def register_alloc(x: int | None = None) -> VirtualRegister:
        register = VirtualRegister(x, core.fail)
        register.note = core.awaited
        return register

    def register_move(dst: VirtualRegister, src: Any) -> None:
        dst.value, dst.set = number_of(src), True
        if isinstance(src, VirtualRegister):
            dst.loaded = src.loaded

    def register_load(dst: VirtualRegister, src: Tensor) -> None:
        core.require(src.buffer != PSUM, "memory", f"{src}: a register is loaded from SBUF or HBM")
        core.require(src.size == 1, "shape", f"a register holds one element, {src} has more")
        core.require(array_dtype(src.dtype).kind in "iu", "dtype", f"{src} is no integer")
        # What is computed from floats has no number in a run without them: no iterations, the first
        # place.
        dst.value, dst.set = int(core.read(src).reshape(-1)[0]) if is_known(src) else 0, True
        busy = MIN_CYCLES / core.machine.clocks["ACT"]
        dst.loaded = core.issue(SEQUENCER, busy, busy, (src,), (), name="register_load")

    def register_store(dst: Tensor, src: VirtualRegister) -> None:
        core.require(dst.size == 1, "shape", f"a register is one element, {dst} has more")
        if is_known(dst):
            core.write(dst, array_dtype(dst.dtype).type(number_of(src)))
        core.run("Pool", MIN_CYCLES, (), (dst,), "register_store")

    return {f.__name__: f for f in (register_alloc, register_move, register_load, register_store)}


def kernel_modules(core: Core) -> tuple[dict[str, types.ModuleType], Language]:
    """The modules of `nki` for one run, and the language that its kernel uses."""
    package = types.ModuleType("nki", "The Neuron Kernel Interface, simulated.")
    nl, language = language_module(core)
    for name, value in vars(nl).items():
        if isinstance(value, types.MethodType):
            setattr(nl, name, _located(core, value))
    isa = _isa(core)
    package.__dict__.update(language=nl, isa=isa, jit=_jit, __path__=[], __version__="0.6.0")
    # In nki 0.6 the loop is here, later in the language: kernels look in both.
    experimental = types.ModuleType("nki.experimental", "What may change.")
    experimental.__dict__["while_loop"] = language.while_loop
    dtypes = types.ModuleType("nki.dtype", "Data types by their names.")
    dtypes.__dict__.update({name: getattr(nl, name) for name in (*DTYPES, "bool_")})
    typing = types.ModuleType("nki.typing", "Annotations of parameters, which say nothing here.")
    typing.__dict__["tensor"] = _Annotation()
    modules = {m.__name__: m for m in (package, nl, isa, experimental, dtypes, typing)}
    for module in (experimental, dtypes, typing):
        setattr(package, module.__name__.partition(".")[2], module)
    return modules, language


class _Annotation:
    """`nt.tensor[shape]`: the shape that a parameter is expected to have."""

    def __getitem__(self, shape: Any) -> _Annotation:
        return self
