"""On-chip memory.

Wwhere buffers lie, what registers hold, which accesses need a barrier between them.
"""
