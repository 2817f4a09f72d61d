"""AWS Trainium: kernels generated as nki source, run by the simulator of their machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from dslc.calls.arguments import Argument
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk
from dslc.machines.machine import Draft, Executable, Facts, Inspection, Machine
from dslc.machines.patience import UNLIMITED, Patience
from dslc.runtime.binding import bind_copied
from dslc.runtime.expression import Number
from dslc.runtime.scalars import as_dtype

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.passes.pass_manager import Pass

SOURCE = "kernel.py"


class NkiMachine(Machine):
    """NeuronCores of one generation; neither they nor the Neuron compiler need to be there."""

    facts = Facts(native="nki")

    def passes(self, schedule: Mapping[str, int]) -> tuple[Pass, ...]:
        """Those of a NeuronCore."""
        from dslc.compiler.passes.pass_lists.trainium import nki_passes

        return nki_passes(self.target)

    def draft(self, program: TileProgram) -> Draft:
        """The nki source."""
        return Draft.of(self.lower(program))

    def lower(self, program: TileProgram) -> Artifact:
        """The source of the kernels and their entry. DSL0590 for what cannot be said."""
        from dslc.codegen.nki.lowering import lower

        return lower(program, self.target)

    def texts(self, artifact: Artifact) -> Mapping[str, Callable[[], str]]:
        """The nki source, as `nki` and as `final`."""

        def nki() -> str:
            return artifact.file(SOURCE).decode()

        return {"nki": nki, "final": nki}

    def load(self, artifact: Artifact, program: TileProgram | None = None) -> NkiExecutable:
        """The kernel on the simulator."""
        return NkiExecutable(artifact)

    def inspection(
        self,
        made: Specialization,
        program: TileProgram,
        sizes: Mapping[str, int],
        patience: Patience = UNLIMITED,
    ) -> Inspection:
        """A run of the simulator without numbers."""
        from dslc.cli.tables.nki import run_lines, run_of, seconds_by_line
        from dslc.runtime.nki_simulator.picture import timeline_svg

        run = run_of(made, sizes)
        return Inspection(
            tuple(run_lines(run)),
            timeline=lambda: timeline_svg(run, made.artifact.name),
            seconds_by_line=seconds_by_line(run),
        )

    def block_time(self, program: TileProgram, sizes: Mapping[str, int]) -> float:
        """Nanoseconds that the engines are busy; kernels without products keep their first choices."""
        from dslc.compiler.cost.trainium import busy
        from dslc.compiler.passes.pass_manager import run_passes

        if not isinstance(program, Kernel) or not any(
            isinstance(s, ins.Dot) for s in walk(program.body)
        ):
            return 0.0
        lowered = run_passes(program, self.passes({}))
        assert isinstance(lowered, Kernel)
        return busy(lowered, self.target).nanoseconds


class NkiExecutable(Executable):
    """A kernel's source, executed by the simulator of its machine."""

    def __init__(self, artifact: Artifact) -> None:
        self._artifact = artifact
        self.last: Any = None  # the run of the last launch, with its timeline

    @cached_property
    def _text(self) -> str:
        return self._artifact.file(SOURCE).decode()

    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int]) -> None:
        """Run it once; outputs are written in place.

        DSL075x where shapes do not fit, DSL0608 where an assertion did not hold.
        """
        from dslc.runtime.nki_simulator import simulate

        launch = self._artifact.launch
        values = bind_copied(self._artifact.signature, args, dims)
        written: list[Any] = [args[name] for name in launch["results"]]
        if not any(array.size for array in written):
            return  # nothing would be written
        dtypes = {p.name: p.dtype for p in self._artifact.signature.params}
        for name in values.keys() & dtypes.keys():
            values[name] = as_dtype(values[name], dtypes[name])
        given = [_argument(a["kind"], a["name"], args, values) for a in launch["arguments"]]
        run = simulate(self._text, self._artifact.entry, given, self._artifact.target)
        results = run.outputs[: len(launch["results"])]
        for texts, marks in zip(launch["checks"], run.outputs[len(results) :], strict=True):
            for text, mark in zip(texts, marks.flat, strict=True):
                if mark:
                    raise self._broken(text)
        for name, result in zip(launch["results"], results, strict=True):
            target: Any = args[name]
            target[...] = result.view(target.dtype) if result.dtype != target.dtype else result
        self.last = run

    def _broken(self, text: str) -> DiagnosticError:
        told = f": {text}" if text else ""
        return error("DSL0608", f"{self._artifact.name}: the assertion does not hold{told}")


def _argument(
    kind: str, name: str, args: Mapping[str, Argument], values: Mapping[str, Number]
) -> Any:
    if kind != "tensor":
        return values[name]
    array = np.ascontiguousarray(args[name])
    return array.view(np.uint8) if array.dtype == np.bool_ else array


MACHINE = NkiMachine
