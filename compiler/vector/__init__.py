"""Vector IR: what one unit of execution does, below tiles.

Virtual registers of scalars and of fixed-length vectors, typed accesses to memory with masks and
alignment, loops and branches. Tiles are lowered to it, legalisation rewrites it into what a machine
has, and printers turn it into code. It has a text form, a verifier and an interpreter of its own.
"""
