"""From a scheduled program to an artifact: one file of nki source, and how its entry is called."""

from __future__ import annotations

from dslc.codegen.nki.generate import emit
from dslc.codegen.padding import refuse_padding
from dslc.compiler.artifact import UNKNOWN, Artifact, Json
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.manifest import grid_of, signature_of, workspaces_of
from dslc.compiler.targets import Target

SOURCE = "kernel.py"


def lower(program: TileProgram, target: Target) -> Artifact:
    """Write out what the passes of a NeuronCore have placed; DSL0590 for what cannot be said."""
    refuse_padding(program)
    text, entry = emit(program, target)
    launch: dict[str, Json] = {
        "arguments": [{"kind": kind, "name": name} for kind, name in entry.arguments],
        "results": list(entry.results),
        "checks": [list(texts) for texts in entry.checks],
        "codes": list(entry.codes),
    }
    kernel = program if isinstance(program, Kernel) else None
    return Artifact(
        name=program.name,
        kind="kernel" if kernel else "program",
        target=target.name,
        entry=entry.name,
        signature=signature_of(program, {}),
        hashes=UNKNOWN,
        grid=grid_of(kernel) if kernel else (),
        workspaces=workspaces_of(kernel) if kernel else (),
        launch=launch,
        files={SOURCE: text.encode()},
    )
