"""A reader of MLIR: the generic form of any operation, and the custom forms that NPU modules use.

`parse` gives the operations of a text, `generic` prints operations in the generic form, which every
MLIR tool reads. Modules are what code generators make and simulators run, so the reader stands on the
standard library alone.
"""

from dslc.compiler.mlir.attributes import Dense, Number, Opaque, Symbol, Type, Use, Word, type_of
from dslc.compiler.mlir.operations import FLOAT_PREDICATES, Block, MlirError, Operation
from dslc.compiler.mlir.printer import generic
from dslc.compiler.mlir.reading import parse

__all__ = [
    "FLOAT_PREDICATES",
    "Block",
    "Dense",
    "MlirError",
    "Number",
    "Opaque",
    "Operation",
    "Symbol",
    "Type",
    "Use",
    "Word",
    "generic",
    "parse",
    "type_of",
]
