"""Assemblers, libraries, headers, and llvm-mca."""
