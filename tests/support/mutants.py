"""Mutation testing: single faults put into the sources, and whether the tests see them.

tests/mutants/ROOM.toml lists the faults: a text of one file, what stands there instead, and the tests
that look at it. Each is tried alone in a copy of the tree. It is caught where one of its tests fails,
or one of the folder that mirrors its file, or (--all) any; and the test that failed passes without it.

    python -m support.mutants                        in tests/: every fault, and a table by room
    python -m support.mutants compiler-facts-3 ...   these
    python -m support.mutants --shard 1/4            a quarter of them
    python -m support.mutants --table                the table of what is known

What is known lies in build/mutants.jsonl and is not tried again, unless fault or tests were changed
(--again tries everything).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTS = ROOT / "tests" / "mutants"
STATE = ROOT / "build" / "mutants.jsonl"
ROOMS = ("dsl", "compiler", "codegen", "runtime")
_COPIED = (*ROOMS, "tests", "examples", "docs", "pyproject.toml", "README.md", "Makefile", ".ci")
_COPIED += ("LICENSE", "CHANGELOG.md", "CONTRIBUTING.md")
_SECONDS = 1200  # of one run of pytest; a fault that makes it hang is caught
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

    @property
    def mirrored(self) -> list[str]:
        """The test files of the folder that mirrors its own, or of the nearest above that has some.

        What CUDA and HIP share is tested through both.
        """
        folder = Path("tests", Path(self.file).parent)
        if folder.parts[1] == "dsl":
            folder = Path("tests", *folder.parts[2:])
        while not (found := sorted((ROOT / folder).glob("test_*.py"))):
            folder = folder.parent
        if folder.name == "c_family":
            beside = (folder.parent / name for name in ("cuda", "hip"))
            found += [path for other in beside for path in sorted(other.glob("test_*.py"))]
        return [str(p.relative_to(ROOT)) for p in found]

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


class Copy:
    """A tree of its own, in which dslc is the copy's; `fault` puts one in, and takes it out again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        skip = shutil.ignore_patterns("__pycache__")
        for name in _COPIED:
            source, target = ROOT / name, folder / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=skip)
            else:
                shutil.copy(source, target)
        links = folder / "build" / "links" / "dslc"
        links.mkdir(parents=True)
        for path in (folder / "dsl").iterdir():
            (links / path.name).symlink_to(path)
        for room in ROOMS[1:]:
            (links / room).symlink_to(folder / room)

    def fails(self, tests: Sequence[str], but: Iterable[str] = ()) -> str | None:
        """The first test that fails of some, "hangs" where they do not end; None where all pass."""
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "build" / "links")}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        command += ["-m", "not gpu and not deep", "--timeout", "600", "--no-header"]
        command += [f"--deselect={test}" for test in but]
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, text=True,
                timeout=_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "hangs"
        if done.returncode in (0, 5):  # all passed, or there are none
            return None
        found = _FAILED.search(done.stdout)
        return found[1] if found else f"pytest ends with {done.returncode}: {done.stdout[-300:]}"

    def write(self, mutant: Mutant, *, fault: bool) -> None:
        """Put the fault in, or the file as it was."""
        text = (ROOT / mutant.file).read_text(encoding="utf-8")
        changed = text.replace(mutant.before, mutant.after) if fault else text
        (self.folder / mutant.file).write_text(changed, encoding="utf-8")


def caught_by(copy: Copy, mutant: Mutant, sound: dict[str, bool], *, everything: bool) -> str:
    """The test that sees a fault; empty where none does. `sound` has tests that pass without one."""
    stages = [mutant.tests, mutant.mirrored, ["tests"] if everything else []]
    for tests in filter(None, stages):
        copy.write(mutant, fault=True)
        try:
            while found := copy.fails(tests, [t for t, passes in sound.items() if not passes]):
                test = found.partition(" - ")[0]
                if found == "hangs" or found.startswith("pytest ends"):
                    return found
                if test not in sound:
                    copy.write(mutant, fault=False)
                    sound[test] = copy.fails([test]) is None
                    copy.write(mutant, fault=True)
                if sound[test]:
                    return found
                print(f"  {test} fails without the fault, too", flush=True)
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
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    listed, results = mutants(), {} if options.again else known()
    part, parts = map(int, options.shard.split("/"))
    chosen = [m for m in listed if not options.names or m.name in options.names][part - 1 :: parts]
    if not options.table:
        STATE.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="dslc-mutants-") as folder:
            copy, sound = Copy(Path(folder)), dict[str, bool]()
            for m in (m for m in chosen if m.key not in results):
                start = time.monotonic()
                results[m.key] = caught = caught_by(copy, m, sound, everything=options.all)
                row = {"key": m.key, "name": m.name, "caught": caught}
                with STATE.open("a", encoding="utf-8") as state:
                    state.write(json.dumps(row) + "\n")
                said = caught or "SURVIVES"
                print(f"{m.name} {time.monotonic() - start:.0f} s: {said}", flush=True)
    print(*table(chosen, results), sep="\n")
    return 0 if all(results.get(m.key, "?") for m in chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
