"""Legalisation: what a program asks for, made of what a machine has.

    legalise(module, capabilities)

Afterwards registers are of integers of 8 to 64 bits, f32, f64 and bools; f16 and bf16 occur only
between a Bitcast and the Convert or Dot beside it. Operations are those that every printer knows:

    neg abs not invert sqrt floor ceil round trunc           of one operand
    add sub mul div and or xor min max (of integers) quotient remainder lshift rshift mulhi
    eq ne lt le gt ge, fma, select, and conversions whose results are in range

The result of each function is that of the interpreter, bit for bit, but for the sign of a NaN and of a
0 that min or max chose, and transcendental functions, whose error docs/compiler/vector.md states.
"""

from dslc.compiler.vector.legal.capabilities import Capabilities
from dslc.compiler.vector.legal.legalise import legalise

__all__ = ["Capabilities", "legalise"]
