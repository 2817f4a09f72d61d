"""Processors whose code this machine runs."""

from __future__ import annotations

import platform

import llvmlite.binding as llvm
from dslc.compiler.targets import cpu
from dslc.compiler.targets.cpu import Processor


def runnable(*names: str) -> dict[str, Processor]:
    """Those of the given processors that have no feature that this machine lacks."""
    own = {name for name, has in llvm.get_host_cpu_features().items() if has}
    found = {name: cpu._PROCESSORS[name] for name in names}
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    return {n: p for n, p in found.items() if p.machine == machine and p.features <= own | _UNNAMED}


_UNNAMED = frozenset({"fp16"})
