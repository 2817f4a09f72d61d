"""From elaborated Tile IR to a specialisation: passes, code generation, and the cache before them.

A cache key covers the elaborated program with its source locations (so the source and all it
imports), the dims, the tune choices, the target, and the compiler's own sources.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dslc.compiler.artifact import Artifact, Hashes
from dslc.compiler.fingerprint import compiler_fingerprint, digest
from dslc.compiler.ir import TileProgram
from dslc.compiler.ir.printer import print_program
from dslc.machines import Machine
from dslc.signature import Signature
from dslc.specialization import Specialization

if TYPE_CHECKING:
    from dslc.runtime.cache import Cache

CacheChoice: TypeAlias = "bool | str | os.PathLike[str] | None"


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What holds for all kernels of a library.

    `define` fixes dims and tunes and overrides consts. `print_after` names passes whose result is
    printed on the standard error (`all` for each); `dump_dir` gets one file a pass.
    """

    target: str
    define: Mapping[str, object] = field(default_factory=dict)
    cache: Cache | None = None
    print_after: tuple[str, ...] = ()
    dump_dir: Path | None = None


def default_target() -> str:
    """What `DSLC_TARGET` says, else the interpreter."""
    return os.environ.get("DSLC_TARGET") or "interp"


def build_options(
    target: str | None = None,
    define: Mapping[str, object] | None = None,
    cache: CacheChoice = None,
    print_after: Iterable[str] = (),
    dump_dir: str | os.PathLike[str] | None = None,
) -> BuildOptions:
    """The options as `dslc.compile` takes them, with their defaults from the environment."""
    return BuildOptions(
        target or default_target(),
        dict(define or {}),
        open_cache(cache),
        tuple(print_after),
        None if dump_dir is None else Path(dump_dir),
    )


def cache_folder() -> Path:
    """Where compiled kernels are kept: `DSLC_CACHE_DIR`, else the user's cache folder."""
    folder = os.environ.get("DSLC_CACHE_DIR")
    if folder:
        return Path(folder)
    import platformdirs

    return Path(platformdirs.user_cache_dir("dslc"))


def open_cache(choice: CacheChoice = None) -> Cache | None:
    """The cache in a folder, or in the user's own for True; None asks `DSLC_CACHE` (`off`: no cache)."""
    if choice is None:
        choice = os.environ.get("DSLC_CACHE", "").lower() not in ("off", "0", "no", "false")
    if choice is False:
        return None
    from dslc.runtime.cache import Cache

    return Cache(cache_folder() if choice is True else choice)


def build(
    program: TileProgram,
    config: Mapping[str, object],
    signature: Signature,
    machine: Machine,
    options: BuildOptions,
    tile: Callable[[], str],
) -> Specialization:
    """Compile an elaborated program, or take it from the cache."""
    text = print_program(program, locations=True)
    passes = shared_passes(options.target)
    hashes = Hashes(
        source=digest({"ir": text}),
        options=digest({"target": options.target, "passes": repr(passes)}),
        compiler=compiler_fingerprint(),
        toolchain=machine.toolchain(),
    )
    compiled: list[TileProgram] = []

    def compile_now() -> Artifact:
        final = run_passes(program, passes, print_after=options.print_after, dump=options.dump_dir)
        compiled.append(final)
        return _artifact(program, final, config, machine, options.target, hashes)

    artifact = _through_cache(options, hashes, compile_now)
    executable = machine.load(artifact, compiled[0] if compiled else None)
    stages = {"tile": tile, **_stages(program, passes), "final": partial(_final, artifact)}
    return Specialization(signature, artifact, executable, stages)
