"""Chunks from and to memory: addresses, guarded accesses, rows of bits, loops over elements."""
