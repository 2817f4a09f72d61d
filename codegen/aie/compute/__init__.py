"""The program of a compute core.

Ttiles in its memory, chunks in its registers, loops and branches.
"""
