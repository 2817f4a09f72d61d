"""Instructions over virtual registers.

Sstreams, liveness, scheduling, register allocation, text.
"""
