"""Tiles chunk by chunk, before any instruction is chosen.

What generators for CPUs share: which elements a chunk has, where shape instructions take it from, which
tiles are computed once.
"""
