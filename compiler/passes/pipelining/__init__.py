"""Software pipelining.

Mmulti-stage shared-memory rings, asynchronous and TMA copies, prefetch to registers.
"""
