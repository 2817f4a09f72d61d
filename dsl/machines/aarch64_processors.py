"""What runs kernels for Arm CPUs here: the CPU, or one that is emulated."""

from __future__ import annotations

import functools
import os
from importlib.resources import files
from typing import TYPE_CHECKING

from dslc.compiler.diagnostics import error
from dslc.compiler.targets import TARGETS
from dslc.compiler.targets.aarch64 import ALL
from dslc.runtime.aarch64 import best_variant, is_host
from dslc.runtime.native import HostProcessor, Processor
from dslc.runtime.native.arm_features import FEATURES

if TYPE_CHECKING:
    from dslc.runtime.aarch64.emulated import EmulatedProcessor

# What QEMU emulates for a target: of several, the CPU that has no more than the target says.
_CPUS = {"base": "cortex-a57", "dotprod": "neoverse-n1"}
_LARGEST = "max"


def find_processor(variant: str) -> Processor:
    """What runs kernels of a variant: this CPU, or an emulated one with its features.

    `DSLC_QEMU_CPU` names the CPU that QEMU emulates, on an Arm machine too.
    """
    cpu = os.environ.get("DSLC_QEMU_CPU")
    if not is_emulated():
        return HostProcessor.get()
    return emulated_processor(cpu or _CPUS.get(variant, _LARGEST))


def is_emulated() -> bool:
    """Whether kernels run on an emulated CPU: where this is no Arm one, or one is named."""
    return "DSLC_QEMU_CPU" in os.environ or not is_host()


def emulated_processor(cpu: str | None = None) -> Processor:
    """An Arm CPU that QEMU emulates: the one of a name, of `DSLC_QEMU_CPU`, or the largest.

    DSL0861 where it does not start.
    """
    from dslc.runtime.aarch64.emulated import EmulatedProcessor

    cpu = cpu or os.environ.get("DSLC_QEMU_CPU") or _LARGEST
    emulator = _emulators.get(cpu)
    if emulator is None or not emulator.alive:
        emulator = _emulators[cpu] = EmulatedProcessor(_guest(), cpu)
    return emulator


_emulators: dict[str, EmulatedProcessor] = {}


@functools.cache
def _guest() -> bytes:
    from dslc.codegen.aarch64.tools.toolchain import link

    text = files("dslc.runtime.aarch64_emulator").joinpath("guest.s").read_text(encoding="utf-8")
    return link({"guest": text}, "program")


def present_target() -> str:
    """The target of the CPU that is there, the largest that it runs; elsewhere the largest of all."""
    variants = [n.partition(":")[2] for n, t in TARGETS.items() if t.family == ALL.family]
    features = HostProcessor.get().features if is_host() else frozenset(FEATURES)
    best = best_variant(variants, features)
    if best is None:
        text = f"there is no target for a CPU with {', '.join(sorted(features)) or 'no features'}"
        raise error("DSL0901", text, hint=f"the variants are {', '.join(variants)}")
    return f"{ALL.family}:{best}"
