"""The text form of Vector IR: printed, and read back."""

from dslc.compiler.vector.text.parser import parse
from dslc.compiler.vector.text.printer import print_function, print_module, print_statement

__all__ = ["parse", "print_function", "print_module", "print_statement"]
