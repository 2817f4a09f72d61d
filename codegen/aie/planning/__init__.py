"""The placed plan of a kernel on the array.

Hherds, streams, FIFOs, memories, and what the host does.
"""
