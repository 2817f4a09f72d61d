"""What a run of the interpreter ends with where the program does what nothing defines."""

from __future__ import annotations


class VectorFault(ArithmeticError):
    """A promise that does not hold, or an access outside memory; the text says which and where."""
