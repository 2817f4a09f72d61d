"""The corpus on each machine: right, or refused as docs/corpus.md says and in no other way."""

from __future__ import annotations

import pytest

from corpus.cases import cases
from support.corpus import outcome
from support.corpus_page import OPEN, PAGE, TARGETS, refusals, rendered
from support.machines import require

ALL = cases()
REFUSED = refusals()
# A few of each family for each machine, other ones for the next.
SAMPLE = [
    (target, name)
    for offset, target in enumerate(TARGETS)
    for name in list(ALL)[4 * offset :: 33]
    if (target, name) not in REFUSED and (target, name) not in OPEN
]


def hold(target: str, name: str) -> None:
    """A case's outcome is what the page says of it."""
    require(target)
    found = outcome(ALL[name], target)
    if found.word != "ok":
        assert found.refusal, found.text
    assert found.refusal == REFUSED.get((target, name)), found.text


def test_the_page_is_of_this_corpus() -> None:
    assert rendered(REFUSED) == PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(("target", "name"), SAMPLE)
def test_some_on_each_machine(target: str, name: str) -> None:
    hold(target, name)


@pytest.mark.parametrize(("target", "name"), REFUSED)
def test_what_is_refused_has_the_same_code_and_reason(target: str, name: str) -> None:
    hold(target, name)


@pytest.mark.deep
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("target", TARGETS)
def test_all_on_each_machine(request: pytest.FixtureRequest, target: str, name: str) -> None:
    if why := OPEN.get((target, name)):
        request.applymarker(pytest.mark.xfail(reason=why, strict=True))
    hold(target, name)
