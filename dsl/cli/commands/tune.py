"""`dslc tune`: the fastest choices of a kernel on this GPU, kept for later calls and builds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from dslc.cli.compiling import CompileOptions, compile_options, picked_kernels
from dslc.cli.options import dim_option, executor_option, input_option, kernel_option, set_option
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, current

if TYPE_CHECKING:
    from dslc.kernels import Kernel
    from dslc.tuner.pruning import Pruned
    from dslc.tuner.records import Record
    from dslc.tuner.store import TuningStore
    from dslc.tuner.tuning import Request, Settings

_EXAMPLES = """
dslc tune gemm.tile -D K=8192 -D N=8192 --dim M=16
dslc tune gemm.tile -k gemm -D K=8192 -D N=8192 --dim M=16,64,4096 --budget 60
dslc tune gemm.tile -t cuda:sm_90a --dim M=16 --dim K=8192 --dim N=8192 --dry-run
dslc tune splitk_bias.tile -t hip:gfx950 --dim M=16 --dim K=7168 --dim N=2112
dslc tune --list
dslc tune --export tuned.json                       then elsewhere: dslc tune --import tuned.json
"""


@click.command("tune", cls=Documented, examples=_EXAMPLES)
@click.argument(
    "file", metavar="[FILE]", required=False, type=click.Path(dir_okay=False, path_type=Path)
)
@kernel_option
@dim_option(
    "The size of a dim that stays open; with several, each is tuned.", "NAME=SIZE[,SIZE...]"
)
@set_option
@input_option("A parameter's value, as for `dslc run`; else random.")
@click.option(
    "--budget", type=click.FloatRange(min=0.0), metavar="SECONDS", help="Stop after so long."
)
@click.option(
    "--top",
    type=click.IntRange(1),
    default=64,
    show_default=True,
    metavar="N",
    help="Measure the N configurations that are predicted best.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Processes that compile (default: one a processor).",
)
@executor_option
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random inputs.")
@click.option(
    "--repack",
    is_flag=True,
    help="Store weights in another way than the sizes that were tuned before; those are forgotten.",
)
@click.option(
    "--dry-run", is_flag=True, help="Only print the configurations with predictions; needs no GPU."
)
@click.option(
    "--list", "listed", is_flag=True, help="List what was tuned; with FILE its kernels alone."
)
@click.option(
    "--export",
    "exported",
    metavar="FILE.json",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write what was tuned to a file; with FILE its kernels alone.",
)
@click.option(
    "--import",
    "imported",
    metavar="FILE.json",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Take the results of such a file over.",
)
@compile_options
def command(
    file: Path | None,
    name: str | None,
    dims: tuple[str, ...],
    choices: tuple[str, ...],
    inputs: tuple[str, ...],
    budget: float | None,
    top: int,
    jobs: int | None,
    executor: str | None,
    seed: int,
    repack: bool,
    dry_run: bool,
    listed: bool,
    exported: Path | None,
    imported: Path | None,
    options: CompileOptions,
) -> int:
    """Find the fastest choices of FILE's kernels for given sizes, and remember them.

    Every product of tune choices and launch options is predicted, the best are compiled in parallel,
    checked against the default choices and measured on the GPU; for AMD GPUs the cost model says how
    fast each is, with the registers that the compiler needed. Dims by -D are compiled in; those by
    --dim stay open, and the result serves sizes up to the next power of two. Later calls, builds and
    runs without choices of their own use the results. Ctrl-C keeps the best so far.
    """
    if listed or exported or imported:
        return _administer(file, name, listed, exported, imported)
    if file is None:
        raise click.UsageError("name a FILE, or say --list, --export or --import")
    from dslc.cli.inputs import parse_definitions, read_inputs
    from dslc.tuner.tuning import Request, Settings

    kernels = _kernels(file, name, options, dry_run)
    settled = parse_definitions(choices, "--set")
    given = read_inputs(inputs)
    for kernel in kernels:
        own = {n: v for n, v in settled.items() if len(kernels) == 1 or n in kernel.tunes}
        names = [p.name for p in kernel.parameters]
        values = {n: v for n, v in given.items() if len(kernels) == 1 or n in names}
        for sizes in _products(dims):
            known = {d: n for d, n in sizes.items() if len(kernels) == 1 or d in kernel.dims}
            request = Request(_with_inputs(kernel, known, values), (), own, values)
            settings = Settings(budget, top, jobs, seed, repack, executor=executor)
            if dry_run:
                if _print_candidates(kernel, request, settings).interrupted:
                    raise KeyboardInterrupt
            else:
                _tune(kernel, request, settings)
    return ExitCode.OK


def _kernels(file: Path, name: str | None, options: CompileOptions, dry_run: bool) -> list[Kernel]:
    """The kernels for what can be measured: `interp` means the GPU that is there."""
    import dataclasses

    from dslc.compiler.diagnostics import DiagnosticError
    from dslc.compiler.targets import INTERP, TARGETS
    from dslc.machines.registry import families, machine_class

    measured = [f for f in families() if machine_class(f).facts.tuning == "measured"]
    machine = max(measured, key=lambda f: machine_class(f).facts.precedence)
    target = machine if options.target == INTERP.name else options.target
    try:
        library = dataclasses.replace(options, target=target).library(file)
    except DiagnosticError as failure:
        absent = target == machine and failure.diagnostics[0].code == "DSL0840"
        if absent and not dry_run:
            (finding, *_) = failure.diagnostics
            hint = (
                "--dry-run predicts without a GPU, also for another one: -t cuda:sm_90a --dry-run"
            )
            raise DiagnosticError([dataclasses.replace(finding, hint=hint)]) from None
        if not absent:
            raise
        known = [t for t in TARGETS.values() if t.family == machine and t.rates is not None]
        newest = [t.name for t in known if t.rates and t.rates.measured][-1]
        current().note(f"there is no GPU here: predicted for {newest}")
        library = dataclasses.replace(options, target=newest).library(file)
    return picked_kernels(library, name, file)


def _products(dims: Iterable[str]) -> Iterator[dict[str, int]]:
    """The sizes of every tuning: the product of the lists that `--dim` gave; DSL0910 for no number."""
    import itertools

    from dslc.cli.inputs import parse_integers, parse_pairs

    lists = {
        name: [parse_integers((f"{name}={t}",), "--dim")[name] for t in text.split(",")]
        for name, text in parse_pairs(tuple(dims), "--dim").items()
    }
    for product in itertools.product(*lists.values()):
        yield dict(zip(lists, product, strict=True))


def _with_inputs(kernel: Kernel, sizes: dict[str, int], given: dict[str, Any]) -> dict[str, int]:
    """The sizes, with those that given arrays say."""
    from dslc.calls.arguments import dim_size

    told = {d: dim_size(kernel.parameters, given, d) for d in kernel.dims}
    return {d: n for d, n in told.items() if n is not None} | sizes


def _tune(kernel: Kernel, request: Request, settings: Settings) -> None:
    import dataclasses

    from dslc.cli.tables.tuning import print_result
    from dslc.cli.tuning_progress import shown_tuning
    from dslc.tuner.tuning import tune

    with shown_tuning(kernel.name) as report:
        result = tune(_origin(kernel), request, dataclasses.replace(settings, report=report))
    for candidate, reason in result.found.dropped:
        current().note(f"warning: {candidate.configuration} is not used: {reason}")
    print_result(result)


def _print_candidates(kernel: Kernel, request: Request, settings: Settings) -> Pruned:
    """The pruned space with predictions."""
    import dataclasses

    from dslc.cli.tables.tuning import print_candidates
    from dslc.cli.tuning_progress import shown_tuning
    from dslc.executors import open_workers
    from dslc.tuner.tuning import Tuning

    with (
        shown_tuning(kernel.name) as report,
        open_workers(settings.executor, settings.jobs) as workers,
    ):
        tuning = Tuning(_origin(kernel), request, dataclasses.replace(settings, report=report))
        pruned = tuning.prune(workers)
    print_candidates(kernel, tuning, pruned)
    return pruned


def _origin(kernel: Kernel) -> Any:
    from dslc.tuner.calls import tunable

    return tunable(kernel.origin)


# Results on disk


def _administer(
    file: Path | None, name: str | None, listed: bool, exported: Path | None, imported: Path | None
) -> int:
    from dslc.cli.tables.tuning import print_records
    from dslc.tuner.store import export_file, import_file

    store = _store()
    if imported is not None:
        records = import_file(imported)
        store.add(records)
        current().say(f"took over {len(records)} results; {_fitting(records)} are for this dslc")
    chosen = list(_chosen(store, file, name))
    if exported is not None:
        current().say(f"{exported}: {export_file(exported, chosen)} results")
    if listed:
        print_records(chosen)
    return ExitCode.OK


def _store() -> TuningStore:
    from dslc.compilation.caching import cache_folder
    from dslc.tuner.store import TuningStore

    return TuningStore(cache_folder())


def _chosen(store: TuningStore, file: Path | None, name: str | None) -> Iterator[Record]:
    """All results, or those for the kernels of a file, whatever their version."""
    names = None
    if file is not None:
        import dslc
        from dslc.compiler.targets import INTERP

        library = dslc.compile(file, INTERP.name, cache=False)
        names = {k.name for k in picked_kernels(library, name, file)}
    for record in store.all():
        kernel = record.environment.kernel
        if (names is None or kernel in names) and name in (None, kernel):
            yield record


def _fitting(records: Iterable[Record]) -> int:
    from dslc.compiler.fingerprint import compiler_fingerprint

    return sum(r.environment.compiler == compiler_fingerprint() for r in records)
