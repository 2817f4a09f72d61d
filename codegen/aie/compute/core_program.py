"""The program of one core: for ever, the launch's objects and its turns of the grid in order."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from dslc.codegen.aie.compute import elementwise, shaping
from dslc.codegen.aie.compute.cascades import vectors_of
from dslc.codegen.aie.compute.control import Program
from dslc.codegen.aie.compute.emission import Emission, Rule
from dslc.codegen.aie.compute.idle import idle_scalars
from dslc.codegen.aie.compute.object_flow import Objects
from dslc.codegen.aie.compute.ports import OBJECT_PORTS, Ports
from dslc.codegen.aie.compute.tile_placement import find_placement
from dslc.codegen.aie.planning.blocking import Blocking
from dslc.codegen.aie.planning.evaluation import evaluate
from dslc.codegen.aie.planning.plan import Plan, Tile
from dslc.codegen.aie.planning.scopes import Access
from dslc.codegen.aie.planning.streams import Stream
from dslc.codegen.aie.printing.builder import Builder
from dslc.compiler.dtypes import DType
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import definitions

RULES: dict[type, Rule] = {**elementwise.RULES, **shaping.RULES}
_FOREVER = 2**63 - 1
_INDENT = 3


@dataclass(frozen=True, slots=True)
class CoreProgram:
    """The text of a core's body, its buffers (name, elements, dtype), and the number of operations.

    `passed` are the vectors that it takes from and gives to its neighbours in a cascade, each turn.
    """

    text: str
    buffers: tuple[tuple[str, int, DType], ...]
    operations: int
    passed: tuple[int, int] = (0, 0)


def emit_core(
    plan: Plan, blocking: Blocking, row: int, column: int, ports: Ports = OBJECT_PORTS
) -> CoreProgram:
    """The program of the core at a row and column of the herd."""
    kernel, tile = plan.kernel, plan.tile(row, column)
    out = Builder(_INDENT)
    cascade = plan.cascade
    body = kernel.body if cascade is None else (*kernel.body, *cascade.body)
    accesses: dict[Stmt, tuple[Stream, Access]] = {
        a.stmt: (s, a) for s in plan.streams for a in s.parts
    }
    placement = find_placement(body, blocking.atoms.keys(), accesses)
    e = Emission(
        out,
        RULES,
        definitions(body),
        placement.kept,
        placement.in_place,
        blocking.blocks,
        suffix=f"_{tile[0]}_{tile[1]}",
        idle=idle_scalars(kernel, plan.herd, row, column),
        taken={f.name for f in plan.fifos},
    )
    program = Program(
        e,
        plan.scopes,
        Objects(e, plan.served.get(tile, {}), accesses, ports, plan.herd, (row, column)),
        blocking,
        cascade=cascade,
        stage=plan.herd.stage(row),
        stages=plan.herd.stages,
    )
    ports.begin(e)
    launch, *axes = plan.scopes.turn.chain
    with ExitStack() as scopes:
        forever = out.constant(_FOREVER, "index")
        scopes.enter_context(e.loop(forever, hint="launch"))
        scopes.enter_context(program.objects.of(launch))
        for number, scope in enumerate(axes):
            loop = scopes.enter_context(e.loop(plan.herd.steps[number], hint="turn"))
            axis = kernel.grid[number]
            start, step = int(evaluate(axis.start, {})), int(evaluate(axis.step, {}))
            first = start + step * plan.herd.digit(number, row, column)
            turn = out.at(loop, step * plan.herd.factors[number])
            e.scalars[axis.var] = turn + first
            scopes.enter_context(program.objects.of(scope))
        program.body(kernel.body)
    return CoreProgram(out.text(), tuple(e.buffers), out.operations, _passed(plan, row))


def _passed(plan: Plan, row: int) -> tuple[int, int]:
    """The vectors that a core takes and gives in a turn."""
    if plan.cascade is None:
        return 0, 0
    count, stage = vectors_of(plan.cascade.states), plan.herd.stage(row)
    return (count if stage else 0), (count if stage < plan.herd.stages - 1 else 0)


def program_of(
    plan: Plan, blocking: Blocking, tile: Tile, ports: Ports = OBJECT_PORTS
) -> CoreProgram:
    """The program of a tile; `ports` say how it comes by its objects."""
    row = tile[1] - plan.array.compute.rows[0]
    return emit_core(plan, blocking, row, tile[0], ports)
