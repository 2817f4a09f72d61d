"""The runtime: cache, packages, buffers and launch.

It is thin: it needs the standard library and NumPy alone and loads what was compiled elsewhere.
"""
