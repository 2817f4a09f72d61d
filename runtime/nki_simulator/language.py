"""`nki.language`: data types, memories, loops, and the names of operators."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
from dslc.runtime.nki_simulator.engines.operators import OPERATORS
from dslc.runtime.nki_simulator.engines.statistics import BN_LIMIT
from dslc.runtime.nki_simulator.machine import BANK_BYTES, PARTITIONS
from dslc.runtime.nki_simulator.neuroncore import INSTRUCTIONS, Core, Loop
from dslc.runtime.nki_simulator.scalars import RuntimeScalar, VirtualRegister, number_of
from dslc.runtime.nki_simulator.tensors import HBM, PSUM, SBUF, Storage
from dslc.runtime.nki_simulator.views import NkiTensor, Slice

DTYPES = (
    "float32", "tfloat32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2", "float8_e4m3fn",
    "int8", "uint8", "int16", "uint16", "int32", "uint32",
)  # fmt: skip
SHARED = "shared_hbm"
_SPACES = {SBUF: SBUF, PSUM: PSUM, HBM: HBM, "private_hbm": HBM, SHARED: HBM}


class Language:
    """The functions of `nki.language` for one core."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.outputs: list[Storage] = []  # what is in nl.shared_hbm

    def ndarray(
        self, shape: Any, dtype: Any, buffer: str | None = None, name: str = ""
    ) -> NkiTensor:
        """A new tensor of unwritten memory; in SBUF where no buffer is given."""
        space = _SPACES.get(SBUF if buffer is None else buffer)
        if space is None:
            self._core.fail("memory", f"there is no buffer {buffer!r}")
        tensor = self._core.allocate(shape, dtype, space, name)
        if buffer == SHARED:
            self.outputs.append(tensor.storage)
        return tensor

    def zeros(self, shape: Any, dtype: Any, buffer: str | None = None, name: str = "") -> NkiTensor:
        """A new tensor of zeros, filled by memset."""
        tensor = self.ndarray(shape, dtype, buffer, name)
        self._core.doing = "memset"
        INSTRUCTIONS["memset"](self._core, tensor, 0)
        return tensor

    def shared_constant(self, constant: Any, dtype: Any = None) -> NkiTensor:
        """A constant in HBM that the kernel file carries."""
        array = np.asarray(constant)
        tensor = self._core.argument("constant", array)
        return tensor if dtype is None or dtype == tensor.dtype else tensor.view(dtype)

    def shared_identity_matrix(self, n: int, dtype: str = "uint8") -> NkiTensor:
        """An identity matrix in HBM."""
        from dslc.runtime.nki_simulator.elements import array_dtype

        return self._core.argument(
            "identity", np.eye(n, dtype=np.float32).astype(array_dtype(dtype))
        )

    def fori_loop(
        self, lower: Any, upper: Any, body_fun: Callable[[Any], Any], step: int = 1
    ) -> None:
        """A compiled loop: its body's tiles are the same memory in every iteration."""
        self._core.require(step > 0, "signature", f"step={step} is not positive")
        with _Iterations(self._core) as loop:
            for i in range(number_of(lower), number_of(upper), step):
                loop.count = 0
                body_fun(RuntimeScalar(i, self._core.fail))

    def while_loop(self, init: Any, body_fun: Callable[[Any], Any]) -> None:
        """A compiled loop while a register is not 0; the body returns the next one."""
        if not isinstance(init, VirtualRegister):
            self._core.fail("signature", f"init is a register, not {type(init).__name__}")
        register = init
        with _Iterations(self._core) as loop:
            while number_of(register):
                loop.count = 0
                passed = VirtualRegister(number_of(register), self._core.fail)
                register = body_fun(passed)
                if not isinstance(register, VirtualRegister):
                    self._core.fail("signature", "the body of while_loop returns a register")


class _Iterations:
    """Within a compiled loop; loops of one place in the body of another are the same one."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def __enter__(self) -> Loop:
        loop = Loop(("loop", self._core.loops[-1].slot()))
        self._core.loops.append(loop)
        return loop

    def __exit__(self, *_: object) -> None:
        self._core.loops.pop()


def language_module(core: Core) -> tuple[types.ModuleType, Language]:
    """The module for a core."""
    language = Language(core)
    module = types.ModuleType("nki.language", "NKI's language level, simulated.")
    names: dict[str, Any] = dict(OPERATORS)
    names |= {name: name for name in DTYPES}
    names |= {"bool_": "uint8", "NkiTensor": NkiTensor, "ds": Slice, "dslice": Slice}
    names |= {name: name for name in _SPACES}
    # Deprecated names of Python's range: all of them unroll.
    names |= dict.fromkeys(("affine_range", "sequential_range", "static_range"), range)
    names |= {n: getattr(language, n) for n in dir(Language) if not n.startswith("_")}
    names["program_id"] = lambda axis=0: 0
    names["num_programs"] = lambda axes=None: 1
    names["program_ndim"] = lambda: 0
    names["device_print"] = lambda prefix, tensor, **_: print(prefix, core.read(tensor))
    names["tile_size"] = types.SimpleNamespace(
        pmax=PARTITIONS, psum_fmax=BANK_BYTES // 4, gemm_stationary_fmax=PARTITIONS,
        gemm_moving_fmax=512, bn_stats_fmax=BN_LIMIT, psum_min_align=4, sbuf_min_align=1,
        total_available_sbuf_size=core.machine.sbuf_bytes,
    )  # fmt: skip
    module.__dict__.update(names)
    return module, language
