"""The checker: from the syntax tree to Tile IR."""

from dslc.checker import functions as _functions  # registers the functions of the language
from dslc.checker.failure import NeedsDims
from dslc.checker.module import CheckedModule, ParamInfo, Template, check_module
from dslc.checker.source import check_source

__all__ = [
    "CheckedModule",
    "NeedsDims",
    "ParamInfo",
    "Template",
    "check_module",
    "check_source",
]
del _functions
