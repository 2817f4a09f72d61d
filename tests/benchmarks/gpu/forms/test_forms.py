"""What the passes decide for forms that no example has is what is kept: cliffs show without a GPU."""

from __future__ import annotations

import json

import pytest
from gpu.forms.listed import FORMS, Form, base_of
from gpu.forms.programs import DECIDED, decisions

KEPT = json.loads(DECIDED.read_text(encoding="utf-8"))


def test_every_form_has_its_line_and_its_base() -> None:
    names = [f.name for f in FORMS]
    assert len(set(names)) == len(names) >= 60
    assert list(KEPT) == names
    assert {base_of(f).kernel for f in FORMS} == {"base"}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.name)
def test_decisions_are_those_that_are_kept(form: Form) -> None:
    assert decisions(form, "cuda:sm_90a") == KEPT[form.name], (
        "programs.py --decided writes them anew"
    )
