"""Which tests reach the place of a fault: its tests are then tried first, the quickest of all.

    python -m support.reach [PATH ...]       in tests/: run them once, with a probe before each fault

A probe is a call before the statement of a fault. It notes the test that pytest says is running (an
environment variable, so subprocesses note theirs, too). Faults outside functions have none: what is
executed at import is reached by whatever came first. What a cache keeps is reached by the first only,
so a test may see a fault that it is not said to reach.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from support.mutants import REACH, ROOT, Copy, Mutant, mutants

_SITE = """
import builtins, os
seen = set()
def _reach(fault):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if (test, fault) not in seen:
        seen.add((test, fault))
        with open({path!r}, "a") as file:
            file.write(f"{{fault}} {{test}}\\n")
builtins._reach = _reach
"""

_PLUGIN = """
import json
def pytest_runtest_logreport(report):
    if report.when == "call" and report.passed:
        with open({path!r}, "a") as file:
            file.write(json.dumps([report.nodeid, report.duration]) + "\\n")
"""


def _blocks(node: ast.AST, inside: bool) -> Iterator[list[ast.stmt]]:
    """The lists of statements within functions, outer ones first."""
    for _, field in ast.iter_fields(node):
        several = field if isinstance(field, list) else [field]
        if inside and several and isinstance(several[0], ast.stmt):
            yield several
        for child in several:
            if isinstance(child, ast.AST):
                yield from _blocks(
                    child, inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
                )


def probed(text: str, faults: Iterable[Mutant]) -> str:
    """A source with a probe before the innermost statement of each fault that a function has."""
    tree = ast.parse(text)
    for m in faults:
        at = text.index(m.before) + len(m.before) - len(m.before.lstrip())
        line = text.count("\n", 0, at) + 1
        place = (line, len(text[text.rfind("\n", 0, at) + 1 : at].encode()))
        found = None
        for block in _blocks(tree, inside=False):
            for stmt in block:
                first, last = (
                    (stmt.lineno, stmt.col_offset),
                    (stmt.end_lineno or 0, stmt.end_col_offset or 0),
                )
                if first <= place < last and not getattr(stmt, "probe", False):
                    found = block, stmt
        if found is not None:
            call = ast.copy_location(ast.parse(f"_reach({m.name!r})").body[0], found[1])
            call.probe = True  # type: ignore[attr-defined]
            found[0].insert(found[0].index(found[1]), call)
    return ast.unparse(tree)


def record(tests: Sequence[str], words: Sequence[str]) -> None:
    """Run tests in a copy with probes; REACH gets a line for every test that reaches a fault."""
    listed = defaultdict[str, list[Mutant]](list)
    for m in mutants():
        if m.file.endswith(".py"):
            listed[m.file].append(m)
    with tempfile.TemporaryDirectory(prefix="dslc-reach-") as name:
        folder = Path(name)
        copy, hits, times = Copy(folder / "tree"), folder / "hits", folder / "times"
        for file, here in listed.items():
            text = (ROOT / file).read_text(encoding="utf-8")
            (copy.folder / file).write_text(probed(text, here), encoding="utf-8")
        (copy.links / "sitecustomize.py").write_text(_SITE.format(path=str(hits)))
        (copy.links / "dslc_times.py").write_text(_PLUGIN.format(path=str(times)))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "dslc_times",
            *words,
        ]
        command += ["-m", "not gpu and not deep", "--timeout", "900", "--tb=no", *tests]
        subprocess.run(command, cwd=copy.folder, env=copy.environment, check=False)
        seconds = dict(json.loads(line) for line in times.read_text().splitlines())
        found = {tuple(line.split(" ", 1)) for line in hits.read_text().splitlines()}
    rows = [(fault, test, seconds[test]) for fault, test in found if test in seconds]
    REACH.parent.mkdir(exist_ok=True)
    with REACH.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in sorted(rows))
    print(
        f"{len({f for f, _, _ in rows})} faults are reached by {len({t for _, t, _ in rows})} tests"
    )


if __name__ == "__main__":
    paths = [word for word in sys.argv[1:] if not word.startswith("-")] or ["tests"]
    record(paths, [word for word in sys.argv[1:] if word.startswith("-")])
