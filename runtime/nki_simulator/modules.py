"""The modules that a kernel's source imports, made for one run.

The source runs with an `__import__` of its own, so that `nki` is the simulator within it alone: nothing
is entered in sys.modules, and a real `nki` that is installed stays what it is for everyone else.
"""

from __future__ import annotations

import builtins
import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

from dslc.runtime.nki_simulator.elements import array_dtype
from dslc.runtime.nki_simulator.engines.matmul import PerfMode
from dslc.runtime.nki_simulator.engines.reductions import ReduceCommand
from dslc.runtime.nki_simulator.engines.transfers import DgeMode, OobMode
from dslc.runtime.nki_simulator.language import Language, language_module
from dslc.runtime.nki_simulator.neuroncore import INSTRUCTIONS, Core, Engine, Instruction
from dslc.runtime.nki_simulator.scalars import VirtualRegister, number_of
from dslc.runtime.nki_simulator.tensors import Tensor
from dslc.runtime.nki_simulator.whole_numbers import by_whole_numbers, is_known

for _family in ("activation", "elementwise", "patterns", "statistics"):  # enter their instructions
    importlib.import_module(f"dslc.runtime.nki_simulator.engines.{_family}")

_VERSIONS = {2: "gen2", 3: "gen3", 4: "gen4"}


class Kernel:
    """A function under `nki.jit`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the body."""
        return self.function(*args, **kwargs)

    def __getitem__(self, grid: Any) -> Kernel:
        return self


def _jit(function: Any = None, **_: Any) -> Any:
    return Kernel if function is None else Kernel(function)


def _bound(core: Core, name: str, function: Instruction) -> Callable[..., None]:
    """An instruction as the kernel calls it: the core knows its line and name, keywords come first."""
    run = function if core.computes else by_whole_numbers(function)

    def call(*args: Any, **kwargs: Any) -> None:
        core.line = sys._getframe(1).f_lineno
        core.doing = name
        kwargs.pop("name", None)
        try:
            run(core, *args, **kwargs)
        except TypeError as wrong:
            if not core.computes or wrong.__traceback__ is None or wrong.__traceback__.tb_next:
                raise
            text = str(wrong).replace(f"{name}()", "it").replace("'core'", "")
            core.fail("signature", text)
        core.doing = ""

    call.__name__ = name
    call.__doc__ = function.__doc__
    return call


def _located(core: Core, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        core.line = sys._getframe(1).f_lineno
        return function(*args, **kwargs)

    call.__name__ = getattr(function, "__name__", "function")
    return call


def _isa(core: Core) -> types.ModuleType:
    module = types.ModuleType("nki.isa", "NKI's instructions, simulated.")
    names: dict[str, Any] = {n: _bound(core, n, f) for n, f in INSTRUCTIONS.items()}
    names |= {n: _located(core, f) for n, f in _registers(core).items()}
    names |= {
        "engine": Engine, "reduce_cmd": ReduceCommand, "dge_mode": DgeMode, "oob_mode": OobMode,
        "matmul_perf_mode": PerfMode, "VirtualRegister": VirtualRegister,
        "nc_version": types.SimpleNamespace(gen2="gen2", gen3="gen3", gen4="gen4"),
        "get_nc_version": lambda: _VERSIONS[core.version],
    }  # fmt: skip
    module.__dict__.update(names)
    return module


def _registers(core: Core) -> dict[str, Callable[..., Any]]:
    def register_alloc(x: int | None = None) -> VirtualRegister:
        return VirtualRegister(x, core.fail)

    def register_move(dst: VirtualRegister, src: Any) -> None:
        dst.value, dst.set = number_of(src), True

    def register_load(dst: VirtualRegister, src: Tensor) -> None:
        core.require(src.size == 1, "shape", f"a register holds one element, {src} has more")
        core.require(array_dtype(src.dtype).kind in "iu", "dtype", f"{src} is no integer")
        # What is computed from floats has no number in a run without them: no iterations, the first
        # place.
        dst.value, dst.set = int(core.read(src).reshape(-1)[0]) if is_known(src) else 0, True

    def register_store(dst: Tensor, src: VirtualRegister) -> None:
        core.require(dst.size == 1, "shape", f"a register is one element, {dst} has more")
        if is_known(dst):
            core.write(dst, array_dtype(dst.dtype).type(number_of(src)))
        core.run("Pool", 64, (), (dst,), "register_store")

    return {f.__name__: f for f in (register_alloc, register_move, register_load, register_store)}


def kernel_globals(core: Core, name: str) -> tuple[dict[str, Any], Language]:
    """The global names that a source begins with, and the language that its kernel uses."""
    package = types.ModuleType("nki", "The Neuron Kernel Interface, simulated.")
    nl, language = language_module(core)
    for each in ("ndarray", "zeros"):
        setattr(nl, each, _located(core, getattr(language, each)))
    isa = _isa(core)
    package.__dict__.update(language=nl, isa=isa, jit=_jit, __path__=[], __version__="0.6.0")
    # In nki 0.6 the loop is here, later in the language: kernels look in both.
    experimental = types.ModuleType("nki.experimental", "What may change.")
    experimental.__dict__["while_loop"] = language.while_loop
    package.__dict__["experimental"] = experimental
    found = {m.__name__: m for m in (package, nl, isa, experimental)}

    def importing(module: str, *args: Any) -> Any:
        """`__import__` with its globals, locals, names and level."""
        names = args[2] if args[2:] else ()
        level = args[3] if args[3:] else 0
        root = module.partition(".")[0]
        if level == 0 and root == "nki":
            if module not in found:
                core.fail("subset", f"there is no module {module}")
            return found[module] if names else package
        if root == "neuronxcc":
            core.fail("subset", f"{module} cannot be used in a kernel since nki 0.4: import nki")
        return builtins.__import__(module, *args)

    own = dict(vars(builtins)) | {"__import__": importing}
    return {"__builtins__": own, "__name__": name}, language
