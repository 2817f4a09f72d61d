"""The page of a report: whole, without the network, small and quick enough, drawn by a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from dslc.cli.main import run
from dslc.reports.page import page_of

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SMALL = {"title": "a", "version": "1", "targets": ["interp"], "sources": [], "kernels": []}
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def test_a_text_cannot_end_the_script() -> None:
    text = "</script><script>alert(1)</script><!--"
    page = page_of({**SMALL, "title": text, "kernels": [{"doc": text}]})
    inside = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert inside is not None
    assert json.loads(inside[1])["kernels"][0]["doc"] == text
    assert page.count("<script") == 2


def test_nothing_is_fetched() -> None:
    page = page_of(SMALL)
    assert "default-src 'none'" in page
    names = set(re.findall(r"""(?:https?:)?//[\w.]+\.\w+[^"'\s)]*""", page))
    assert names <= {"http://www.w3.org/2000/svg"}  # the name of a vocabulary, not an address


@pytest.mark.parametrize(
    ("more", "said"),
    [(("-k", "nothing"), "has no kernel nothing"), (("-t", "cuda:sm_1"), "cuda:sm_1")],
)
def test_mistakes_are_said(
    more: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.html"
    assert run(["report", str(EXAMPLES / "rmsnorm.tile"), "-o", str(out), *more]) in (1, 2)
    assert said in capsys.readouterr().err
    assert not out.exists()


def browser() -> str:
    found = next((b for b in BROWSERS if shutil.which(b)), None)
    if found is None:
        pytest.skip("no Chromium here: apt install --no-install-recommends chromium-headless-shell")
    return found


def drawn(page: Path, hash_: str) -> str:
    """The document after its script has run."""
    done = subprocess.run(
        [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000",
         "--enable-logging=stderr", "--dump-dom", f"{page.as_uri()}{hash_}"],
        capture_output=True, text=True, check=True, timeout=100,
    )  # fmt: skip
    problems = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not problems
    return done.stdout


def test_a_browser_draws_all_of_it(tmp_path: Path) -> None:
    browser()
    page = tmp_path / "r.html"
    targets = ["-t", "cuda:sm_90a", "-t", "cpu:x86-64-v3", "-t", "nki:trn2"]
    assert run(["report", str(EXAMPLES / "rmsnorm.tile"), *targets, "-o", str(page), "-q"]) == 0
    document = drawn(page, "#open,dark")
    assert 'data-theme="dark"' in document
    assert 'data-ready="yes"' in document
    for part in ("Summary", "Source", "Code", "Time", "Timeline", "Layouts", "Passes"):
        assert f"<summary>{part}" in document, part
    assert document.count("<details open") > 20
    assert 'class="n heat"' in document
    assert "<canvas" in document
    assert 'class="come"' in document
    assert 'class="gone"' in document
    assert re.search(r'<div class="for" data-place="[^"]*rmsnorm.tile:13"', document)
