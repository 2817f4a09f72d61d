"""Objects for tests of what comes after LLVM: made of its text, by llvmlite alone."""

from __future__ import annotations

import functools
from typing import Any

TRIPLES = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}


def object_of(text: str, machine: str, features: str = "") -> bytes:
    """The object file of a module's text for a machine, its code independent of its place."""
    binding = _binding()
    target = binding.Target.from_triple(TRIPLES[machine])
    made = target.create_target_machine(
        cpu="x86-64" if machine == "x86_64" else "generic",
        features=features,
        opt=2,
        reloc="pic",
        codemodel="small",
    )
    module = binding.parse_assembly(text)
    module.triple = TRIPLES[machine]
    found: bytes = made.emit_object(module)
    return found


@functools.cache
def _binding() -> Any:
    import llvmlite.binding as binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding
