"""The interpreter: the meaning of Tile IR, in NumPy."""

from dslc.compiler.interpreter.dims import bind_dims
from dslc.compiler.interpreter.options import Options
from dslc.compiler.interpreter.running import run

__all__ = ["Options", "bind_dims", "run"]
