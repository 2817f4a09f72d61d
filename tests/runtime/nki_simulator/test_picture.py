"""The timeline's picture: well-formed, every lane, labelled as modelled."""

from __future__ import annotations

import xml.etree.ElementTree as Xml

import numpy as np
from dslc.runtime.nki_simulator import picture

from support.nki.kernels import SOFTMAX, run


def test_every_instruction_is_a_bar_with_a_tip() -> None:
    found = run(SOFTMAX, np.ones((300, 77), np.float32))
    root = Xml.fromstring(picture.timeline_svg(found, "a < b"))
    texts = ["".join(node.itertext()) for node in root.iter()]
    assert any(text.startswith("a < b: trn2") and text.endswith("modelled") for text in texts)
    tips = [node for node in root.iter("{http://www.w3.org/2000/svg}rect") if len(node)]
    assert len(tips) == len(found.trace.steps)
    assert "DMA loads" in texts
    assert "PE (tensor)" not in texts  # it has nothing to do


def test_of_many_instructions_each_pixel_shows_the_busy_share() -> None:
    source = SOFTMAX.replace("range(0, M, 128)", "list(range(0, M, 128)) * 1100")
    found = run(source, np.ones((128, 8), np.float32))
    text = picture.timeline_svg(found)
    Xml.fromstring(text)
    assert len(text) < 1_000_000
