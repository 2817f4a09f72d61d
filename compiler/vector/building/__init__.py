"""Building functions of Vector IR, one instruction a call.

    b = Builder("scale")
    x, y, n = b.pointer("x", align=64), b.pointer("y"), b.scalar("n", INDEX)
    with b.loop(0, n, 64) as loop:
        row = b.load(x, loop.var, VectorType(F32, 16), align=64)
        b.store(y, loop.var, b.mul(row, 2.0))
    function = b.function()

Python's numbers stand for constants of the other operand's type. What is known folds: an instruction
over constants gives a Constant, `x + 0` gives x.
"""

from dslc.compiler.vector.building.builder import Branch, Builder, Loop, LoopPart
from dslc.compiler.vector.building.registers import Given
from dslc.compiler.vector.constants import constant, lanes_of

__all__ = ["Branch", "Builder", "Given", "Loop", "LoopPart", "constant", "lanes_of"]
