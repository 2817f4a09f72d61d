"""Colours: the lexer of Pygments, the grammar of TextMate, and the extension that has it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import dslc
import pytest
from dslc.frontend.lexer import Lexer

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "examples").glob("*.tile"), *(ROOT / "tests/corpus").glob("*.tile")])
EXTENSION = ROOT / "editors/vscode"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_pygments_reads_what_the_compiler_reads(path: Path) -> None:
    pytest.importorskip("pygments")
    from dslc.highlighting import TileLexer
    from pygments.token import Comment, Error, Text, Whitespace

    source = path.read_text()
    found = [(k, t) for k, t in TileLexer(stripnl=False).get_tokens(source) if t.strip()]
    assert not [t for k, t in found if k in Error or (k in Text and k not in Whitespace)]
    ours = [t.text for t in Lexer(source, "", lambda d: None).tokens() if t.text]
    theirs = [part for k, t in found if k not in Comment for part in t.split()]
    assert [w for text in ours for w in text.split()] == theirs


def test_the_grammar_has_the_words_of_the_language() -> None:
    pytest.importorskip("pygments")
    from support.editors import textmate

    assert textmate.PATH.read_text(encoding="utf-8") == textmate.text(), (
        "in tests/: python -m support.editors.textmate"
    )


def test_the_extension_is_whole() -> None:
    package = json.loads((EXTENSION / "package.json").read_text())
    assert package["version"] == dslc.__version__
    contributes = package["contributes"]
    named = [g["path"] for g in contributes["grammars"]]
    named += [language["configuration"] for language in contributes["languages"]]
    for name in [*named, package["main"], "README.md", "LICENSE"]:
        assert (EXTENSION / name).is_file(), name
    for file in EXTENSION.rglob("*.json"):
        if "node_modules" not in file.parts:
            json.loads(file.read_text())
    settings = set(
        re.findall(r'settings\.get\("(\w+)"\)', (EXTENSION / "extension.js").read_text())
    )
    assert {f"dslc.{s}" for s in settings} == set(contributes["configuration"]["properties"])


@pytest.mark.deep
@pytest.mark.network
@pytest.mark.timeout(600)
def test_the_extension_packages(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path / "vscode"
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns("node_modules"))
    subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=folder, check=True)
    words = ["npx", "vsce", "package", "--allow-missing-repository", "-o", "tile.vsix"]
    subprocess.run(words, cwd=folder, check=True)
    names = zipfile.ZipFile(folder / "tile.vsix").namelist()
    for name in ("extension.js", "syntaxes/tile.tmLanguage.json", "language-configuration.json"):
        assert f"extension/{name}" in names
    assert any("vscode-languageclient" in name for name in names)
