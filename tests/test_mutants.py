"""The list of faults fits the sources: each text stands in its file once, and its tests are there."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
from collections import Counter

import pytest

from support import mutants as running
from support.mutants import ROOMS, ROOT, mutants

MUTANTS = mutants()


def test_every_fault_has_its_place() -> None:
    texts = {m.file: (ROOT / m.file).read_text(encoding="utf-8") for m in MUTANTS}
    assert [m.name for m in MUTANTS if texts[m.file].count(m.before) != 1] == []


def test_a_source_with_its_fault_is_still_a_program() -> None:
    """A fault that does not parse would be caught by anything."""
    for m in MUTANTS:
        assert m.before != m.after, m.name
        if m.file.endswith(".py"):
            text = (ROOT / m.file).read_text(encoding="utf-8")
            ast.parse(text.replace(m.before, m.after), m.file)


def test_the_tests_of_a_fault_are_there() -> None:
    paths = {t.partition("::")[0] for m in MUTANTS for t in m.tests}
    assert sorted(p for p in paths if not (ROOT / p).exists()) == []


def test_there_are_faults_in_every_room() -> None:
    rooms = Counter(m.file.partition("/")[0] for m in MUTANTS)
    assert set(rooms) == set(ROOMS)
    assert len(MUTANTS) == len({m.name for m in MUTANTS})


def test_a_fault_that_starts_processes_without_end_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "_PROCESSES", 3)
    monkeypatch.setattr(running, "_LOOK", 0.2)
    run = subprocess.Popen(
        ["sh", "-c", "for i in 1 2 3 4 5; do sleep 60 & done; wait"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            running.communicated(run)
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
