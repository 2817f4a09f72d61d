"""Every reader of foreign bytes, briefly; `python tests/fuzz/run.py` goes on for long.

What the long run found once is kept in the folder `corpus`, and read here again.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from support.fuzzing import SUBJECTS

CORPUS = Path(__file__).parent / "corpus"
COUNTS = {"bombs": 15, "check": 6, "folder": 60, "tile": 40, "manifest": 100}


def test_what_was_found_once_is_refused_soon_and_as_then() -> None:
    """The corpus has an input for each code, which is its name."""
    kept = sorted(CORPUS.glob("*/*"))
    assert len({path.parent.name for path in kept}) > 3
    for path in kept:
        begin = time.process_time()
        codes = SUBJECTS[path.parent.name](path.read_bytes())
        assert {*codes} == {path.name}, path
        assert time.process_time() - begin < 1, path


@pytest.mark.parametrize("name", SUBJECTS)
def test_seeds_are_read_and_damage_is_refused(name: str) -> None:
    subject, draw = SUBJECTS[name], random.Random(9)
    seeds = list(subject.seeds())
    assert any(subject(seed) == () for seed in seeds)
    refused = 0
    for _ in range(COUNTS.get(name, 300)):
        refused += subject(_damaged(draw.choice(seeds), draw)) != ()
    # A seal that is broken is another reader's affair, and what only checks refuses nothing.
    assert refused or name in ("sealed", "check", "bombs")


def _damaged(seed: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(seed) + 1)
    end = min(len(seed), at + draw.choice([0, 0, 1, 2, 8]))
    noise = draw.choice(
        [b"", draw.randbytes(1), draw.randbytes(4), seed[:12], b"(", b"\n", b"9" * 30]
    )
    return seed[:at] + noise + seed[end:]
