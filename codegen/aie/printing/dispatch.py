"""The module of a program: a device for each configuration, and one whose sequence runs them in turn.

    aie.device(npu2) @gemm { ... aie.runtime_sequence @transfers(%a_host: ...) { ... } }
    aie.device(npu2) @attention_input {
      aie.runtime_sequence @dispatch(%x: memref<...>, ...) {
        aiex.configure @gemm {
          aiex.run @transfers(%x, %w, %y) : (memref<...>, memref<...>, memref<...>)
        }
      }
    }

The forms are those of mlir-aie since November 2025, for binaries that hold several configurations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dslc.codegen.aie.planning.events import Tensor
from dslc.codegen.aie.planning.plan_kernel import Planned
from dslc.codegen.aie.planning.stitching import Run, Stitched
from dslc.codegen.aie.printing.objectfifos import device_text, memref, module_text
from dslc.codegen.quoting import ascii_name

TRANSFERS, DISPATCH = "@transfers", "@dispatch"
Printer = Callable[[Planned, str], Iterator[str]]


def print_dispatch(stitched: Stitched, device: str, lines: Printer) -> str:
    """The module of a program; `lines` print what a launch's device holds."""
    devices = [
        device_text(device, lines(launch.planned, TRANSFERS), f"@{launch.name}")
        for launch in stitched.launches
    ]
    main = device_text(device, _sequence(stitched), f"@{ascii_name(stitched.program.name)}")
    return module_text([*devices, main])


def _sequence(stitched: Stitched) -> Iterator[str]:
    given = ", ".join(f"{_name(t)}: {_kind(t)}" for t in stitched.tensors)
    yield f"    aie.runtime_sequence {DISPATCH}({given}) {{"
    for runs in stitched.configurations:
        yield f"      aiex.configure @{runs[0].launch.name} {{"
        yield from (f"        {_run(run)}" for run in runs)
        yield "      }"
    yield "    }"


def _run(run: Run) -> str:
    names, kinds = (", ".join(f(t) for t in run.tensors) for f in (_name, _kind))
    return f"aiex.run {TRANSFERS}({names}) : ({kinds})"


def _name(tensor: Tensor) -> str:
    return f"%{ascii_name(tensor.memory.name)}"


def _kind(tensor: Tensor) -> str:
    return memref(tensor.elements, tensor.memory.dtype)
