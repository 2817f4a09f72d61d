"""`dslc cache`: look into the compile cache, check it, make it smaller."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click
from dslc.amounts import SIZES, SPANS, amount
from dslc.cli.pages import Documented, DocumentedGroup
from dslc.cli.session import ExitCode, current, session_options

if TYPE_CHECKING:
    from dslc.runtime.cache import Cache, Listed

_EXAMPLES = """
dslc cache ls
dslc cache show 3f0c
dslc cache verify
dslc cache prune --max-size 500M --older-than 30d
dslc cache clear --yes
"""


def _amount(units: dict[str, int], example: str) -> Callable[..., float | None]:
    """What reads an option's number with a unit of the table, as a plain number."""

    def convert(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
        number = None if value is None else amount(value, units)
        if value is not None and number is None:
            raise click.BadParameter(f"{value!r} is not an amount such as {example}")
        return number

    return convert


@click.group("cache", cls=DocumentedGroup, examples=_EXAMPLES)
@session_options
def command() -> None:
    """Look after the compile cache.

    It lies in the user's cache folder, or in DSLC_CACHE_DIR; DSLC_CACHE=off does without. What was used
    least recently goes where it is larger than DSLC_CACHE_MAX_SIZE (5G; none for any size).
    """


@command.command("dir", cls=Documented)
@session_options
def show_dir() -> None:
    """Print the folder of the cache."""
    click.echo(str(_cache().root))


@command.command("ls", cls=Documented)
@session_options
def ls() -> None:
    """List the entries, the one used last first."""
    from dslc.cli.tables.table import is_json, print_table, size_text

    rows = [(e.key[:12], size_text(e.size), _age(e.used), *_names(e)) for e in _cache().ls()]
    if rows:
        print_table(("key", "size", "used", "kernel", "target"), rows, right=(1, 2))
    elif not is_json():
        current().say("the cache is empty")


@command.command("show", cls=Documented, examples="dslc cache show 3f0c")
@click.argument("key")
@session_options
def show(key: str) -> None:
    """Show the entry whose key begins with KEY: its manifest and its files."""
    import json

    from dslc.cli.tables.table import print_table, size_text

    cache = _cache()
    entries = [e for e in cache.ls() if e.key.startswith(key)]
    if len(entries) != 1:
        many = f"{len(entries)} entries begin" if entries else "no entry begins"
        raise click.UsageError(f"{many} with {key!r}; `dslc cache ls` lists them")
    entry = cache.get(entries[0].key)
    if entry is None:  # refused: the cache has said why
        raise click.UsageError(f"the entry {entries[0].key[:12]} cannot be used")
    click.echo(f"key   {entries[0].key}\npath  {entries[0].path}\n")
    click.echo(json.dumps(dict(entry.manifest), indent=2))
    click.echo()
    print_table(
        ("file", "size"), [(n, size_text(len(data))) for n, data in entry.files.items()], right=(1,)
    )


@command.command("verify", cls=Documented)
@session_options
def verify() -> int:
    """Check every byte of every entry against its index; exit code 4 where one differs.

    A damaged entry is never used: it is built again at its next use. `dslc cache prune` removes it.
    """
    cache = _cache()
    count, problems = len(cache.ls()), cache.verify()
    for key, problem in problems.items():
        click.echo(f"{key[:12]}: {problem}")
    current().say(f"{count - len(problems)} of {count} entries are as they were written")
    return ExitCode.FAILED if problems else ExitCode.OK


@command.command(
    "prune", cls=Documented, examples="dslc cache prune --max-size 500M --older-than 30d"
)
@click.option(
    "--max-size",
    metavar="SIZE",
    callback=_amount(SIZES, "500M"),
    help="Keep at most so much, as in 500M.",
)
@click.option(
    "--older-than",
    metavar="AGE",
    callback=_amount(SPANS, "30d"),
    help="Delete what was not used for so long, as in 30d.",
)
@session_options
def prune(max_size: float | None, older_than: float | None) -> None:
    """Delete damaged entries, old ones, and beyond a size those used least recently."""
    cache = _cache()
    damaged = list(cache.verify())
    for key in damaged:
        cache.remove(key)
    removed = cache.prune(
        max_bytes=None if max_size is None else int(max_size), older_than=older_than
    )
    _say_removed(cache, len(damaged) + len(removed))


@command.command("clear", cls=Documented)
@click.option("--yes", is_flag=True, help="Do not ask.")
@session_options
def clear(yes: bool) -> None:
    """Delete every entry."""
    cache = _cache()
    count = len(cache.ls())
    if count and not yes:
        click.confirm(f"Delete {count} entries of {cache.root}?", abort=True, err=True)
    cache.clear()
    _say_removed(cache, count)


def health() -> tuple[str, str]:
    """The state of the cache for `dslc doctor`: ok or missing, and a sentence."""
    import os

    from dslc.cli.tables.table import size_text

    cache = _cache()
    place = cache.root
    while not place.exists():
        place = place.parent
    if not os.access(place, os.W_OK):
        return "missing", f"{cache.root} cannot be written: set DSLC_CACHE_DIR to a folder of yours"
    entries = cache.ls()
    problems = cache.verify()
    held = f"{cache.root}: {len(entries)} entries, {size_text(sum(e.size for e in entries))}"
    damaged = f"; {len(problems)} damaged, `dslc cache prune` removes them" if problems else ""
    return "ok", held + damaged


def _cache() -> Cache:
    from dslc.compilation.caching import cache_folder
    from dslc.runtime.cache import Cache

    return Cache(cache_folder())


def _names(entry: Listed) -> tuple[str, str]:
    """What is in an entry, by its manifest: the kernel and its target."""
    import json

    try:
        manifest = json.loads((entry.path / "manifest.json").read_bytes())
        return str(manifest["name"]), str(manifest["target"])
    except (OSError, ValueError, KeyError, TypeError):
        return "?", "?"


def _say_removed(cache: Cache, count: int) -> None:
    from dslc.cli.tables.table import size_text

    left = cache.ls()
    size = size_text(sum(e.size for e in left))
    current().say(f"removed {count} entries; {len(left)} left, {size}")


def _age(used: float) -> str:
    seconds = max(0.0, time.time() - used)
    for name in ("w", "d", "h", "m"):
        if seconds >= 2 * SPANS[name]:
            return f"{seconds / SPANS[name]:.0f}{name} ago"
    return f"{seconds:.0f}s ago"
