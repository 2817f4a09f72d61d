"""dslc: one tile program, five kinds of machine."""

__version__ = "0.1.0"
