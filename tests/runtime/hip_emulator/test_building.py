"""Functions of kernels are compiled once a host, whichever kernel has them first."""

from __future__ import annotations

from pathlib import Path

import pytest
from dslc.runtime.hip_emulator import building, compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
F, G, H = (
    f"EXPORTED void NAME(Wave *w, const Ins *i) {{ w->v[i->r[0]][0] = {n}; }}" for n in "123"
)


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the compiler was given since then, in a cache of its own."""
    texts: list[str] = []
    make = building.make

    def noting(path, command, given, *more):  # type: ignore[no-untyped-def]
        texts.extend(given.values())
        return make(path, command, given, *more)

    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(building, "make", noting)
    return texts


def in_a_new_process(monkeypatch: pytest.MonkeyPatch, chip: str, functions: list[str]) -> None:
    monkeypatch.setattr(building, "_ADDRESSES", {})
    monkeypatch.setattr(building, "_LIBRARIES", {})
    found = building.addresses(chip, functions)
    assert len({*found.values()}) == len(functions)


def test_what_another_kernel_has_is_not_compiled_again(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_new_process(monkeypatch, "gfx942", [F, G])
    in_a_new_process(monkeypatch, "gfx942", [H, G, F])
    in_a_new_process(monkeypatch, "gfx942", [G, H])
    first, second = compiled
    assert ("= 1;" in first, "= 2;" in first, "= 3;" in first) == (True, True, False)
    assert ("= 1;" in second, "= 2;" in second, "= 3;" in second) == (False, False, True)
    in_a_new_process(monkeypatch, "gfx950", [F])
    assert len(compiled) == 3


def test_a_library_that_is_gone_is_made_again(
    compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_new_process(monkeypatch, "gfx942", [F, G])
    for library in tmp_path.rglob("kernel-*.so"):
        library.unlink()
    for _ in range(2):
        in_a_new_process(monkeypatch, "gfx942", [F])
    assert len(compiled) == 2
