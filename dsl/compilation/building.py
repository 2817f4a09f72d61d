"""From elaborated Tile IR to a specialisation: passes, code generation, and the cache before them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from dslc.calls.signature import Signature, as_choice
from dslc.codegen.line_marks import are_wanted
from dslc.compilation.caching import CacheChoice, fetch, open_cache
from dslc.compilation.specialization import Specialization
from dslc.compiler.artifact import Artifact, Hashes
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.fingerprint import compiler_fingerprint, digest
from dslc.compiler.ir import TileProgram
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.passes.pass_manager import Observer, Pass, run_passes
from dslc.environment import calls_compile, default_target
from dslc.machines.machine import PLAIN_CODE, CodeOptions, Machine
from dslc.runtime.cache import Cache


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What holds for all kernels of a library.

    `define` fixes dims and tunes and overrides consts; `observers` see the program after each pass.
    """

    target: str
    define: Mapping[str, object] = field(default_factory=dict)
    cache: Cache | None = None
    observers: tuple[Observer, ...] = ()
    code: CodeOptions = PLAIN_CODE


def build_options(
    target: str | None = None,
    define: Mapping[str, object] | None = None,
    cache: CacheChoice = None,
    observers: Iterable[Observer] = (),
    code: CodeOptions = PLAIN_CODE,
) -> BuildOptions:
    """The options as `dslc.compile` takes them, with their defaults from the environment."""
    values = {name: as_choice(name, value) for name, value in (define or {}).items()}
    target = target or default_target()
    return BuildOptions(target, values, open_cache(cache), tuple(observers), code)


def build(
    program: TileProgram,
    config: Mapping[str, object],
    signature: Signature,
    machine: Machine,
    options: BuildOptions,
    tile: Callable[[], str],
    schedule: Mapping[str, int] | None = None,
    *,
    at_call: bool = False,
) -> Specialization:
    """Compile an elaborated program, or take from the cache what was compiled of it before.

    `config` are its tune choices, `schedule` the launch options. DSL0749 where a call
    would have to compile, and must not.
    """
    compilation = compile_program(
        program, config, schedule or {}, machine, options, at_call=at_call
    )
    artifact, compiled = compilation
    executable = machine.load(artifact, compiled)
    passes = machine.passes(schedule or {})
    ir = _stages(program, passes)
    stages = {"tile": tile, **ir, **machine.texts(artifact)}
    lower = partial(run_passes, program, passes)
    return Specialization(signature, artifact, machine, executable, stages, tuple(ir), lower)


def compile_program(
    program: TileProgram,
    config: Mapping[str, object],
    schedule: Mapping[str, int],
    machine: Machine,
    options: BuildOptions,
    *,
    at_call: bool = False,
) -> tuple[Artifact, TileProgram | None]:
    """The artifact, and the program after the passes where they ran: the cache may have had it."""
    passes = machine.passes(schedule)
    config = {**config, **schedule}
    hashes = Hashes(
        source=digest({"ir": print_program(program, locations=True)}),
        options=digest(
            {
                "target": machine.target.name,
                "passes": _identity(passes),
                "config": repr(sorted(config.items())),
                **({"lines": "marked"} if are_wanted() else {}),
            }
        ),
        compiler=compiler_fingerprint(),
        toolchain=machine.toolchain(),
    )
    compiled: list[TileProgram] = []
    if options.observers:  # whoever watches the passes gets them run, whatever the cache has
        compiled.append(run_passes(program, passes, observers=options.observers))

    def compile_now() -> Artifact:
        if at_call and not calls_compile():
            raise _not_compiled(program, config, machine)
        if not compiled:
            compiled.append(run_passes(program, passes))
        return machine.compile(compiled[0], config, hashes)

    cache = options.cache
    artifact = compile_now() if cache is None else fetch(cache, hashes, compile_now)
    return artifact, compiled[0] if compiled else None


@functools.lru_cache(maxsize=256)
def _identity(passes: tuple[Pass, ...]) -> str:
    """The hash of passes with their options: a GPU has half a megabyte of instructions."""
    return digest({"passes": repr(passes)})


def _not_compiled(
    program: TileProgram, config: Mapping[str, object], machine: Machine
) -> DiagnosticError:
    chosen = [f"{n} = {v}" for n, v in (*program.fixed, *config.items())]
    chosen += [r.text for r in program.requires]
    chosen += [f"{p.name} unaligned" for p in program.params if getattr(p, "align", None)]
    what = f" with {', '.join(chosen)}" if chosen else ""
    return error(
        "DSL0749",
        f"{program.name} was not compiled before for {machine.target.name}{what}, and DSLC_JIT=error "
        "keeps this call from compiling it",
        program.loc,
        hint=f"call {program.name}.specialize_for(sizes, choices) before, or load a package that has "
        "it: dslc build FILE -o FOLDER",
    )


def _stages(program: TileProgram, passes: Sequence[Pass]) -> dict[str, Callable[[], str]]:
    """The IR before the passes and after each; passes run again when a text is asked for."""
    stages: dict[str, Callable[[], str]] = {"ir": partial(print_program, program)}
    for count, one in enumerate(passes, 1):
        name = one.name if one.name not in stages else f"{one.name}-{count}"
        stages[name] = partial(_text_after, program, tuple(passes[:count]))
    return stages


def _text_after(program: TileProgram, passes: Sequence[Pass]) -> str:
    return print_program(run_passes(program, passes))
