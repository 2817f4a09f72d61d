"""The interpreter of Vector IR, on NumPy: its results are what an instruction means."""

from dslc.compiler.vector.faults import VectorFault
from dslc.compiler.vector.interpreter.memory import Memory
from dslc.compiler.vector.interpreter.running import interpret

__all__ = ["Memory", "VectorFault", "interpret"]
