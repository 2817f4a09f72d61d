"""Which block computes which tiles, and when.

Rrasterization, persistent blocks, split-K, stream-K, dependent launches.
"""
