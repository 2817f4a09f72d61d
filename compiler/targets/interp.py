"""The interpreter as a machine: what passes that ask a target are told where there is none."""

from __future__ import annotations

from dslc.compiler.targets.target import Target

INTERP = Target("interp", "interp", "the interpreter on this machine", 32, 1024, ())
TARGETS = (INTERP,)
