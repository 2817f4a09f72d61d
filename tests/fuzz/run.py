"""The long fuzzing: every subject by Atheris (libFuzzer), a share of the runs each.

    pip install atheris                               (Python 3.11 to 3.13, Linux)
    python tests/fuzz/run.py                          a million inputs in all
    python tests/fuzz/run.py tile check --runs 50000  of these subjects, as many in all
    python tests/fuzz/run.py tile --again FILE        one input, as a finding was left in build/fuzz
    python tests/fuzz/run.py tile --runs 9000 --keep  the first input of each code into the corpus

Inputs begin with the subject's seeds and with what is kept in tests/fuzz/corpus: a small one for each
way to be refused, which the suite reads again. Each has a second, by the clock of the CPU.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FINDINGS = ROOT / "build" / "fuzz"
_RUNTIME = ("dslc.runtime", "dslc.compiler.artifact")
_FRONT = ("dslc.frontend",)
# What a subject gets of a hundred inputs, and the modules whose branches are watched.
_SUBJECTS = {
    "tuning": (4, ("dslc.tuner.store", "dslc.tuner.records")),
    "manifest": (10, _RUNTIME), "folder": (3, _RUNTIME), "artifact": (12, _RUNTIME),
    "safetensors": (8, _RUNTIME), "gguf": (6, ("dslc.checkpoints.gguf",)),
    "header": (16, _RUNTIME), "sealed": (12, _RUNTIME),
    "expression": (18, _RUNTIME), "tile": (12, _FRONT), "check": (2, (*_FRONT, "dslc.checker")),
    "bombs": (1, ("dslc.checker", "dslc.compiler.layout")),
}  # fmt: skip
_SECONDS = 1.0
_LARGEST = 4096  # bytes of an input
_SMALL = 700  # bytes of one that is kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(_SUBJECTS))
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", type=Path)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    chosen = options.subjects or list(_SUBJECTS)
    if unknown := {*chosen} - _SUBJECTS.keys():
        parser.error(f"no such subject: {', '.join(sorted(unknown))}")
    sys.path.insert(0, str(HERE.parent))
    if options.again is not None:
        return _again(chosen[0], options.again)
    if options.child:
        _fuzz(chosen[0], options.runs, options.seed, options.keep)
    total = sum(_SUBJECTS[s][0] for s in chosen)
    more = [f"--seed={options.seed}", *(["--keep"] if options.keep else [])]
    shares = {s: options.runs * _SUBJECTS[s][0] // total for s in chosen}
    failed = [s for s, runs in shares.items() if not _run(s, runs, more)]
    print("findings of", ", ".join(failed) if failed else "none")
    return bool(failed)


def _run(subject: str, runs: int, more: list[str]) -> bool:
    begin = time.monotonic()
    command = [sys.executable, __file__, subject, "--child", f"--runs={runs}", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    tail = done.stderr.splitlines()[-40:]
    print(
        f"{subject}: {runs} inputs in {time.monotonic() - begin:.0f} s, ends with {done.returncode}"
    )
    if done.returncode:
        print(*tail, sep="\n")
    sys.stdout.flush()
    return done.returncode == 0


def _again(name: str, file: Path) -> int:
    from support.fuzzing import SUBJECTS

    faulthandler.dump_traceback_later(20)
    begin = time.process_time()
    codes = SUBJECTS[name](file.read_bytes())
    print(f"{', '.join(codes) or 'read'} in {time.process_time() - begin:.3f} s")
    return 0


def _fuzz(name: str, runs: int, seed: int, keep: bool) -> None:
    """In a process of its own: libFuzzer ends it."""
    import atheris  # type: ignore[import-not-found]

    modules = list(_SUBJECTS[name][1])
    with atheris.instrument_imports(include=modules, enable_loader_override=False):
        from support.fuzzing import SUBJECTS

        subject = SUBJECTS[name]
        seeds = [
            *subject.seeds(),
            *(f.read_bytes() for f in sorted((HERE / "corpus" / name).glob("*"))),
        ]
        for data in seeds:
            subject(data)  # what is imported on the way is seen as well
    FINDINGS.mkdir(parents=True, exist_ok=True)
    kept = HERE / "corpus" / name

    def once(data: bytes) -> None:
        begin = time.process_time()
        codes = subject(data)
        if keep and len({*codes}) == 1 and len(data) < _SMALL:
            kept.mkdir(parents=True, exist_ok=True)
            if not (kept / codes[0]).exists():
                (kept / codes[0]).write_bytes(data)
        if (taken := time.process_time() - begin) > _SECONDS:
            raise TimeoutError(f"{taken:.1f} s")

    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(seeds):
            Path(folder, f"seed{number}").write_bytes(data)
        words = Path(folder, "words.dict")
        words.write_text("".join(f'"{_escaped(w)}"\n' for w in subject.words))
        (Path(folder, "corpus")).mkdir()
        arguments = [
            f"-runs={runs}", f"-seed={seed + 1}", "-timeout=30", "-rss_limit_mb=4096",
            f"-max_len={max(_LARGEST, *map(len, seeds))}", f"-artifact_prefix={FINDINGS}/{name}-",
            "-verbosity=0", "-reload=0", *([f"-dict={words}"] if subject.words else []),
        ]  # fmt: skip
        os.chdir(folder)
        atheris.Setup([sys.argv[0], *arguments, f"{folder}/corpus", folder], once)
        atheris.Fuzz()


def _escaped(word: str) -> str:
    return "".join(c if c.isalnum() or c in " ()[]:,._" else f"\\x{ord(c):02x}" for c in word)


if __name__ == "__main__":
    sys.exit(main())
