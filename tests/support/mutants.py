"""Mutation testing: single faults put into the sources, and whether the tests see them.

tests/mutants/ROOM.toml lists the faults: a text of one file, what stands there instead, and the tests
that look at it. Each is tried alone in a copy of the tree. It is caught where one of its tests fails,
or one that support/reach.py saw at its place, or one of the folder that mirrors its file, or
(--all) any; and what failed passes without it.

    python -m support.mutants                        in tests/: every fault, and a table by room
    python -m support.mutants compiler-facts-3 ...   these
    python -m support.mutants --shard 1/4            a quarter of them
    python -m support.mutants --listed ...           by the listed tests alone, which takes seconds
    python -m support.mutants --table                the table of what is known

What is known lies in build/mutants.jsonl and is not tried again, unless fault or tests were changed
(--again tries everything).
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTS = ROOT / "tests" / "mutants"
STATE = ROOT / "build" / "mutants.jsonl"
REACH = (
    ROOT / "build" / "reach.jsonl"
)  # support/reach.py: a fault, a test that reaches it, its seconds
ROOMS = ("dsl", "compiler", "codegen", "runtime")
_COPIED = (*ROOMS, "tests", "examples", "docs", "pyproject.toml", "README.md", "Makefile", ".ci")
_COPIED += ("LICENSE", "CHANGELOG.md", "CONTRIBUTING.md")
_CPU_SECONDS = 400  # of one process: a fault that makes it go on for ever is caught,
_SECONDS = 1800  # and one that makes it wait, also where others use the machine
_BYTES = 8 << 30  # that a process may have: a fault may want all there are,
_PROCESSES = 96  # and start processes without end, for which is looked every
_LOOK = 2.0  # seconds
_QUICK, _FEW = 10.0, 20  # tests that reach a fault: seconds and number of those tried first,
_SLOW = 60.0  # and seconds of all
_PLUGIN = """from hypothesis import Phase, settings
def pytest_configure():  # that a fault is seen is enough: no example is made smaller
    settings.register_profile("first", settings(), phases=[Phase.explicit, Phase.generate])
    settings.load_profile("first")
"""
_GONE = re.compile(r"^ERROR: not found: (.+)$", re.MULTILINE)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: `before` stands once in `file`, and becomes `after`."""

    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]

    @property
    def room(self) -> str:
        """The first two folders of its file, such as codegen/nki."""
        return "/".join(Path(self.file).parts[:-1][:2])

    def mirrored(self, tree: Path) -> list[str]:
        """The test files of the folder that mirrors its own, or of the nearest above that has some.

        What CUDA and HIP share is tested through both; passes have their cases in tests/ir.
        """
        folder = Path("tests", Path(self.file).parent)
        if folder.parts[1] == "dsl":
            folder = Path("tests", *folder.parts[2:])
        while not (found := sorted((tree / folder).glob("test_*.py"))):
            folder = folder.parent
        if folder.name == "c_family":
            found += [
                p
                for name in ("cuda", "hip")
                for p in sorted((folder.parent / name).glob("test_*.py"))
            ]
        if self.file.startswith("compiler/passes/"):
            found.append(tree / "tests" / "ir" / "test_cases.py")
        return [str(p.relative_to(tree)) for p in found]

    @property
    def namesakes(self) -> tuple[str, str]:
        """The names of its module and of the folder of that: tests called so are tried first."""
        path = Path(self.file)
        return path.stem, path.parent.name

    @property
    def key(self) -> str:
        """Changes with the fault and its tests."""
        text = json.dumps([self.file, self.before, self.after, self.tests])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def mutants() -> list[Mutant]:
    """Every listed fault, by name."""
    found = []
    for path in sorted(LISTS.glob("*.toml")):
        for i, entry in enumerate(tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]):
            name = entry.pop("name", f"{path.stem}-{i + 1}")
            found.append(Mutant(name, tests=tuple(entry.pop("tests", ())), **entry))
    return found


def processes_of(session: int) -> int:
    """How many processes of a session there are."""
    count = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            count += int(fields[3]) == session
    return count


def communicated(run: subprocess.Popen[str]) -> tuple[str, str]:
    """What a session's first process prints; TimeoutExpired where it goes on, or breeds."""
    until = time.monotonic() + _SECONDS
    while True:
        try:
            return run.communicate(timeout=_LOOK)
        except subprocess.TimeoutExpired:
            if time.monotonic() > until or processes_of(run.pid) > _PROCESSES:
                raise


class Copy:
    """A tree of its own, in which dslc is the copy's; `fault` puts one in, and takes it out again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sound: dict[str, str] = {}  # files as they were
        skip = shutil.ignore_patterns("__pycache__")
        for name in _COPIED:
            source, target = ROOT / name, folder / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=skip)
            else:
                shutil.copy(source, target)
        self.links = folder / "build" / "links"
        dslc = self.links / "dslc"
        dslc.mkdir(parents=True)
        for path in (folder / "dsl").iterdir():
            (dslc / path.name).symlink_to(path)
        for room in ROOMS[1:]:
            (dslc / room).symlink_to(folder / room)
        (self.links / "first_failure.py").write_text(_PLUGIN)

    @property
    def environment(self) -> dict[str, str]:
        """In which `import dslc` finds the copy."""
        return {**os.environ, "PYTHONPATH": str(self.links)}

    def fails(self, tests: Sequence[str], but: Iterable[str] = ()) -> str | None:
        """The first test that fails of some, "hangs" where they do not end; None where all pass."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        command += ["-p", "first_failure", "-m", "not gpu and not deep", "--timeout", "900"]
        command += [f"--deselect={test}" for test in but]
        run = subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        resource.prlimit(run.pid, resource.RLIMIT_DATA, (_BYTES, _BYTES))
        resource.prlimit(run.pid, resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
        try:
            printed, errors = communicated(run)
        except subprocess.TimeoutExpired:
            return "hangs"
        finally:  # what the fault made the tests start ends with them
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
            run.wait()
        if run.returncode in (0, 5):  # all passed, or there are none
            return None
        gone = {name.partition("tests/")[2] for name in _GONE.findall(errors)}
        there = [t for t in tests if t.partition("[")[0].removeprefix("tests/") not in gone]
        if gone and there:
            return self.fails(there, but) if len(there) < len(tests) else None
        found = _FAILED.search(printed)
        return found[1] if found else f"pytest ends with {run.returncode}: {printed[-300:]}"

    def write(self, mutant: Mutant, *, fault: bool) -> None:
        """Put the fault in, or the file as it was."""
        path = self.folder / mutant.file
        text = self.sound.setdefault(mutant.file, path.read_text(encoding="utf-8"))
        changed = text.replace(mutant.before, mutant.after) if fault else text
        path.write_text(changed, encoding="utf-8")
        if path.suffix in (".c", ".h"):
            self._build(mutant.file)

    def _build(self, file: str) -> None:
        """The extensions of Python that a file in C is a part of."""
        project = tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))
        for one in project["tool"]["setuptools"]["ext-modules"]:
            if file in (*one["sources"], *one["depends"]):
                stem = self.folder.joinpath(*one["name"].split(".")[1:])
                command = ["cc", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}"]
                command += [*one.get("extra-compile-args", ()), *one["sources"]]
                command += ["-o", f"{stem}{sysconfig.get_config_var('EXT_SUFFIX')}"]
                subprocess.run(command, cwd=self.folder, check=True)


def reaching(mutant: Mutant) -> list[tuple[float, str]]:
    """The seconds and names of tests that reach a fault: those that lie near, the quickest first.

    Where pytest does not find a case by its name again, all cases of its test.
    """
    found: dict[str, float] = {}
    for line in REACH.read_text(encoding="utf-8").splitlines() if REACH.exists() else ():
        fault, test, seconds = json.loads(line)
        if fault == mutant.name:
            test = test.partition("[")[0] if "\\" in test else test
            found[test] = seconds + found.get(test, 0)

    def key(test: str) -> tuple[int, float]:
        near = os.path.commonpath([f"tests/{mutant.file}", test.partition("::")[0]])
        return -len(near), found[test]

    return [(found[test], test) for test in sorted(found, key=key)]


def stages(copy: Copy, mutant: Mutant, *, everything: bool) -> Iterator[list[str]]:
    """Tests to try in turn: its own, some that reach it, more of these, the mirrored folder."""
    yield list(mutant.tests)
    passed, first, more = 0.0, list[str](), list[str]()
    for seconds, test in reaching(mutant):
        passed += seconds
        if len(first) < _FEW and (passed < _QUICK or not first):
            first.append(test)
        elif passed < _SLOW:
            more.append(test)
    yield first
    yield more
    mirrored = mutant.mirrored(copy.folder)
    yield [test for test in mirrored if Path(test).stem.removeprefix("test_") in mutant.namesakes]
    yield mirrored
    yield ["tests"] if everything else []


def caught_by(
    copy: Copy, mutant: Mutant, tests: Iterable[list[str]], sound: dict[str, bool]
) -> str:
    """What sees a fault: a test, or an end of pytest's; empty where nothing does.

    `sound` learns of tests that fail whether they pass without a fault.
    """
    for some in filter(None, tests):
        copy.write(mutant, fault=True)
        try:
            while found := copy.fails(some, [t for t, passes in sound.items() if not passes]):
                is_test = found.startswith("tests/")
                if not sound.get(found):
                    copy.write(mutant, fault=False)
                    sound[found] = copy.fails([found] if is_test else some) is None
                    copy.write(mutant, fault=True)
                if sound[found] if is_test else sound.pop(found):
                    return found
                print(f"  {found} fails without the fault, too", flush=True)
                if not is_test:
                    break
        finally:
            copy.write(mutant, fault=False)
    return ""


def known() -> dict[str, str]:
    """By the key of a fault, what has caught it, or nothing."""
    if not STATE.exists():
        return {}
    rows = (json.loads(line) for line in STATE.read_text(encoding="utf-8").splitlines())
    return {row["key"]: row["caught"] for row in rows}


def table(listed: Sequence[Mutant], results: dict[str, str]) -> Iterator[str]:
    """The score by room, and who survived."""
    tried = [m for m in listed if m.key in results]
    yield "| room | faults | caught | score |\n|---|---|---|---|"
    for room in (*sorted({m.room for m in tried}), "all"):
        here = [m for m in tried if room in (m.room, "all")]
        caught = sum(bool(results[m.key]) for m in here)
        yield f"| {room} | {len(here)} | {caught} | {100 * caught / max(1, len(here)):.0f} % |"
    for m in tried:
        if not results[m.key]:
            yield f"survived: {m.name} in {m.file}: {m.before.strip()!r} -> {m.after.strip()!r}"
    if len(tried) < len(listed):
        yield f"not tried: {len(listed) - len(tried)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--shard", default="1/1", metavar="I/N")
    parser.add_argument("--all", action="store_true", help="at last the whole suite")
    parser.add_argument("--listed", action="store_true", help="the listed tests alone")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    part, parts = map(int, options.shard.split("/"))
    listed = [m for m in mutants() if not options.names or m.name in options.names]
    chosen = listed[part - 1 :: parts]
    if not options.table:
        STATE.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="dslc-mutants-") as folder:
            copy, sound = Copy(Path(folder)), dict[str, bool]()
            for m in chosen:
                if not options.again and m.key in known():  # other runs add to it
                    continue
                start = time.monotonic()
                listed_alone = options.listed and m.tests
                tests = [list(m.tests)] if listed_alone else stages(copy, m, everything=options.all)
                caught = caught_by(copy, m, tests, sound)
                row = {"key": m.key, "name": m.name, "caught": caught}
                with STATE.open("a", encoding="utf-8") as state:
                    state.write(json.dumps(row) + "\n")
                said = caught or "SURVIVES"
                print(f"{m.name} {time.monotonic() - start:.0f} s: {said}", flush=True)
    results = known()
    print(*table(chosen, results), sep="\n")
    return 0 if all(results.get(m.key, "?") for m in chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
