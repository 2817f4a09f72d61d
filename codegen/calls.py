"""Artifacts of CPUs' kernels, and of programs: what each call gives, over the program's own dims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from dslc.codegen.padding import refuse_padding
from dslc.compiler.artifact import UNKNOWN, Artifact, Json
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import storage_dtype
from dslc.compiler.ir import Call, Kernel, Memory, Program, TileProgram, View
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.strides import strides_of
from dslc.compiler.ir.rewrite import kernels
from dslc.compiler.manifest import expression_text, grid_of, signature_of, workspaces_of
from dslc.compiler.targets import Target


@dataclass(frozen=True, slots=True)
class Code:
    """A function of a CPU: its text, the scratch memory that a call needs, the texts of its asserts."""

    symbol: str
    text: str
    scratch: int
    asserts: tuple[str, ...]


def cpu_artifact(
    program: TileProgram,
    target: Target,
    source: str,
    features: Iterable[str],
    generate: Callable[[Kernel], Code],
) -> Artifact:
    """The texts of what the passes have scheduled, as files `source`; equal kernels are one.

    The launch descriptions are those that the runtime of CPUs calls by.
    """
    refuse_padding(program)

    def of_kernel(kernel: Kernel) -> Artifact:
        code = generate(kernel)
        launch: dict[str, Json] = {
            "variant": target.name.partition(":")[2],
            "features": sorted(features),
            "arguments": argument_words(kernel),
            "scratch": code.scratch,
            "asserts": list(code.asserts),
            "grid": list(grid_of(kernel)),
        }
        return Artifact(
            kernel.name,
            "kernel",
            target.name,
            code.symbol,
            signature_of(kernel, {}),
            UNKNOWN,
            grid_of(kernel),
            workspaces=workspaces_of(kernel),
            launch=launch,
            files={source: code.text.encode()},
        )

    if isinstance(program, Kernel):
        return of_kernel(program)
    lowered = {k: of_kernel(k) for k in kernels(program)}
    return program_artifact(program, target, lowered, source)


def program_artifact(
    program: Program,
    target: Target,
    lowered: Mapping[Kernel, Artifact],
    source: str,
    more: Mapping[str, Json] = MappingProxyType({}),
) -> Artifact:
    """A program's calls and the artifacts of its kernels; those of equal source text are one.

    `more` is what its launch says besides.
    """
    numbered: dict[tuple[object, ...], tuple[int, Artifact]] = {}
    calls: list[Json] = []
    for call in program.calls:
        artifact = lowered[call.kernel]
        same = (artifact.files[source], repr(artifact.signature))
        number, _ = numbered.setdefault(same, (len(numbered), artifact))
        when = {} if call.when is None else {"when": expression_text(call.when)}
        calls.append({"kernel": number, **call_arguments(program, call), **when})
    made_of = dict(numbered.values())
    return Artifact(
        program.name,
        "program",
        target.name,
        program.name,
        signature_of(program, {}),
        UNKNOWN,
        launch={
            "buffers": [{"name": b.name, "bytes": _bytes_of(b)} for b in program.buffers],
            "kernels": [artifact.to_manifest() for artifact in made_of.values()],
            "calls": calls,
            **({"views": [_view(v) for v in program.views]} if program.views else {}),
            **more,
        },
        files={
            f"{number}.{name}": content
            for number, artifact in made_of.items()
            for name, content in artifact.files.items()
        },
    )


def call_arguments(program: Program, call: Call) -> dict[str, Json]:
    """Tensors by name, dims and scalars as texts; DSL0590 for a dim that no argument binds."""
    tensors: dict[str, str] = {}
    scalars: dict[str, str] = {}
    bound: dict[ex.Var, ex.Expr] = {}
    for param, given in zip(call.kernel.params, call.args, strict=True):
        if isinstance(param, Memory):
            assert isinstance(given, Memory)
            tensors[param.name] = given.name
            _bind(call.kernel, _shape(call.kernel, param), _shape(program, given), bound)
            if param.strides is not None:
                _bind(call.kernel, param.strides, strides_of(given), bound)
        else:
            assert not isinstance(given, Memory)
            scalars[param.name] = expression_text(given)
    for dim in call.kernel.dims:
        if dim not in bound:
            text = f"no argument of {call.kernel.name} gives its dim {dim.name}"
            raise error(
                "DSL0590", text, call.loc, hint="fix it with -D, or add a parameter that has it"
            )
    dims = {d.name: expression_text(bound[d]) for d in call.kernel.dims}
    return {"tensors": tensors, "dims": dims, "scalars": scalars}


def _view(view: View) -> Json:
    bytes_ = storage_dtype(view.base.dtype).itemsize
    offset = f"({expression_text(view.offset)}) * {bytes_}"
    return {"name": view.memory.name, "of": view.base.name, "offset": offset}


def _bytes_of(memory: Memory) -> str:
    """The size of a buffer: codes of low bits take a byte each."""
    factors = [f"({expression_text(e)})" for e in memory.shape]
    return " * ".join([*factors, str(storage_dtype(memory.dtype).itemsize)])


def _shape(owner: Kernel | Program, memory: Memory) -> Sequence[ex.Expr]:
    """The shape that the caller knows, where the memory is bytes by now."""
    return next((p.shape for p in owner.packed if p.name == memory.name), memory.shape)


def _bind(
    kernel: Kernel,
    wanted: Sequence[ex.Expr],
    given: Sequence[ex.Expr],
    bound: dict[ex.Var, ex.Expr],
) -> None:
    for expr, value in zip(wanted, given, strict=False):
        if isinstance(expr, ex.Var) and expr in kernel.dims:
            bound.setdefault(expr, value)


def argument_words(kernel: Kernel) -> list[Json]:
    """What a CPU's code finds in its words, in order: the parameters, the dims, the workspaces."""
    words: list[Json] = []
    for param in kernel.params:
        if isinstance(param, Memory):
            words.append({"kind": "tensor", "name": param.name})
        else:
            words.append({"kind": "scalar", "name": param.name, "type": param.dtype.name})
    words += [{"kind": "value", "value": d.name, "type": "i64"} for d in kernel.dims]
    return words + [{"kind": "workspace", "name": w.name} for w in kernel.workspaces]
