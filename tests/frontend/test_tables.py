from __future__ import annotations

import json
from pathlib import Path

import dslc.frontend.tables as module
import pytest
from dslc.frontend.table_builder import encode
from dslc.frontend.tables import FOLDER, made, tables

GRAMMAR = (FOLDER / "grammar.lark").read_text()


def test_the_stored_tables_are_those_of_the_grammar() -> None:
    """If this fails: python -m dslc.frontend.tables."""
    stored, now = json.loads((FOLDER / "grammar.json").read_text()), made(GRAMMAR)
    if (
        stored["lark"] != now["lark"]
    ):  # another lark may number and name the same automaton otherwise
        stored, now = stored["grammar"], now["grammar"]
    assert stored == now


def test_every_action_is_a_method_of_the_builder() -> None:
    from dslc.frontend.builder import TreeBuilder

    assert [
        r.action for r in tables().rules if r.action and not hasattr(TreeBuilder, r.action)
    ] == []


def test_a_grammar_with_a_conflict_is_refused() -> None:
    with pytest.raises(ValueError, match="conflict"):
        encode('%declare NAME\nmodule: a\na: a "+" a | NAME\n')


def test_stale_tables_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "grammar.lark").write_text(GRAMMAR.replace('"while"', '"as_long_as"'))
    (tmp_path / "grammar.json").write_text((FOLDER / "grammar.json").read_text())
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    kinds = {kind for row in tables.__wrapped__().actions for kind in row}
    assert "as_long_as" in kinds
    assert "while" not in kinds
