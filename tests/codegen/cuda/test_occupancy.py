from dataclasses import replace

import pytest
from dslc.codegen.cuda.occupancy import occupancy
from dslc.codegen.cuda.tools.resources import Resources
from dslc.compiler.targets import find_target


@pytest.mark.parametrize(
    ("architecture", "registers", "threads", "shared", "blocks", "limit"),
    [
        ("sm_90a", 32, 256, 0, 8, "warps"),
        ("sm_90a", 128, 256, 0, 2, "registers"),
        ("sm_90a", 33, 1024, 0, 1, "registers"),  # 40 are given
        ("sm_90a", 16, 32, 0, 32, "blocks"),
        ("sm_90a", 32, 128, 100 << 10, 2, "shared memory"),
        ("sm_90a", 32, 128, 227 << 10, 1, "shared memory"),
        ("sm_80", 32, 128, 100 << 10, 1, "shared memory"),
    ],
)
def test_blocks_at_once(architecture, registers, threads, shared, blocks, limit):
    found = occupancy(find_target(f"cuda:{architecture}"), Resources(registers), threads, shared)
    assert (found.blocks, found.limit) == (blocks, limit)
    assert found.warps == blocks * threads // 32
    assert 0 < found.fraction <= 1


def test_a_machine_without_rates_has_no_figure():
    assert occupancy(replace(find_target("cuda:sm_80"), rates=None), Resources(32), 128, 0) is None
