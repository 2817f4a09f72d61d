"""How fast a program compiles: each example from text through the passes, and 2,000 lines checked.

python tests/benchmarks/compiling.py

Milliseconds of CPU, which other work on the machine disturbs least.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from dslc.checker import NeedsDims, check_module, check_source
from dslc.compiler.diagnostics import Severity
from dslc.compiler.passes.pass_lists.interpreter import interpreter_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.frontend.tile_parser import parse_tile

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SAMPLE = 128  # of dims that must be known


def cpu() -> float:
    """Seconds that this process and those it waited for have computed."""
    mine, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return sum(used.ru_utime + used.ru_stime for used in (mine, children))


def best(action: Callable[[], object], times: int = 5) -> float:
    """Milliseconds of the quickest run."""
    found = []
    for _ in range(times):
        begin = cpu()
        action()
        found.append(cpu() - begin)
    return min(found) * 1e3


def elaborated(template: object) -> object:
    fixed: dict[str, int] = {}
    while True:
        try:
            return template.elaborate(fixed, {})
        except NeedsDims as needs:
            fixed |= dict.fromkeys(needs.dims, SAMPLE)


def compile_file(path: Path) -> dict[str, float]:
    """Milliseconds of each step for all kernels and programs of a file."""
    text = path.read_text(encoding="utf-8")
    module = parse_tile(text, str(path))
    checked = check_module(module, search=(EXAMPLES,))
    own = [t for t in checked.templates.values() if t.loc.file == str(path)]
    programs = [elaborated(t) for t in own]
    return {
        "parse": best(lambda: parse_tile(text, str(path))),
        "check": best(
            lambda: [
                elaborated(t)
                for t in check_module(module, search=(EXAMPLES,)).templates.values()
                if t.loc.file == str(path)
            ]
        ),
        "passes": best(lambda: [run_passes(p, interpreter_passes()) for p in programs]),
    }


def many_lines(least: int) -> str:
    """At least that many lines: the examples without imports, each time under other names."""
    sources = [p.read_text(encoding="utf-8") for p in sorted(EXAMPLES.glob("*.tile"))]
    sources = [s for s in sources if not re.search(r"^from ", s, re.MULTILINE)]
    parts: list[str] = []
    lines = 0
    while lines < least:
        text = sources[len(parts) % len(sources)]
        text = re.sub(r'\A""".*?"""\n', "", text, flags=re.DOTALL)
        names = re.findall(r"^(?:kernel|program|def|const) (\w+)", text, re.MULTILINE)
        for name in names:
            text = re.sub(rf"\b{name}\b", f"{name}_{len(parts)}", text)
        parts.append(text)
        lines += text.count("\n")
    return "\n".join(parts)


def cold_start() -> float:
    """Milliseconds of CPU of a fresh process that checks one small file."""
    command = [sys.executable, "-m", "dslc", "check", str(EXAMPLES / "vector_add.tile")]
    return best(lambda: subprocess.run(command, check=True, capture_output=True))


def main() -> None:
    print(f"{'example':<20}{'parse':>8}{'check':>8}{'passes':>8}{'all':>8}  ms")
    for path in sorted(EXAMPLES.glob("*.tile")):
        steps = compile_file(path)
        cells = "".join(f"{v:8.1f}" for v in (*steps.values(), sum(steps.values())))
        print(f"{path.stem:<20}{cells}")
    text = many_lines(2000)
    findings = check_source(text, "<many>")
    assert not [d for d in findings if d.severity is Severity.ERROR], findings[:3]
    seconds = best(lambda: check_source(text, "<many>"), 3) / 1e3
    print(f"{text.count(chr(10))} lines parsed and checked, every tune choice: {seconds:.2f} s")
    print(f"`dslc check` of one file in a fresh process: {cold_start():.0f} ms")


if __name__ == "__main__":
    main()
