"""What runs kernels of LLVM's here: this CPU, for Arm code elsewhere an emulated one."""

from __future__ import annotations

from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.compiler.targets import TARGETS
from dslc.compiler.targets.cpu import best_of, processor_by_name
from dslc.machines.aarch64_processors import emulated_processor
from dslc.runtime.native import (
    HostProcessor,
    Processor,
    host_features,
    host_machine,
    host_maker,
)

_FAMILY = "cpu"
# What the names of a maker's kinds begin with: its own caches and timing are taken of equal ones.
_MAKERS = {"AuthenticAMD": "znver", "apple": "apple"}


def find_processor(artifact: Artifact) -> Processor:
    """This CPU, unless the artifact's code is for Arm and this is none: then one that QEMU emulates."""
    cpu = processor_by_name(artifact.target)
    if cpu.machine == "aarch64" != host_machine():
        return emulated_processor()
    return HostProcessor.get()


def present_target() -> str:
    """The kind of the CPU that is here; DSL0901 where there is no target for it."""
    kinds = {n.partition(":")[2] for n, t in TARGETS.items() if t.family == _FAMILY}
    machine, features = host_machine(), host_features()
    best = best_of(kinds, machine, features, _MAKERS.get(host_maker(), ""))
    if best is None:
        raise error(
            "DSL0901",
            f"there is no target for this CPU: {machine} with "
            f"{', '.join(sorted(features)) or 'no features that are known'}",
            hint="--target interp runs every kernel; `dslc targets` lists what each needs",
        )
    return f"{_FAMILY}:{best}"
