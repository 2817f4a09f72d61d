"""Long runs by parts: what has passed is not run again, and several machines share the tests.

DSLC_TEST_PASSED names a file with the tests that have passed, one a line: a run leaves them out and
adds its own. DSLC_TEST_SHARD=2/8 takes the second of eight parts; a test's part follows from its name.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from zlib import crc32

import pytest


class Resuming:
    """A plugin of the process that reports and of its workers, which leave out the same tests."""

    def __init__(self, passed: str, shard: str) -> None:
        numbers = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", shard or "1/1")
        if numbers is None or int(numbers[1]) > int(numbers[2]):
            raise pytest.UsageError(f"DSLC_TEST_SHARD={shard}: which part of how many, such as 2/8")
        self.part, self.parts = int(numbers[1]), int(numbers[2])
        self.file = Path(passed) if passed else None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out what belongs to other parts, and what has passed."""
        passed: set[str] = set()
        if self.file is not None and self.file.exists():
            passed = set(self.file.read_text(encoding="utf-8").splitlines())
        out = [item for item in items if item.nodeid in passed or not self._is_own(item.nodeid)]
        if out:
            config.hook.pytest_deselected(items=out)
            items[:] = [item for item in items if item not in set(out)]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down a test that has passed, at once: a run may end at any time."""
        is_worker = "PYTEST_XDIST_WORKER" in os.environ
        if self.file is not None and not is_worker and report.when == "call" and report.passed:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(report.nodeid + "\n")

    def _is_own(self, name: str) -> bool:
        return crc32(name.encode()) % self.parts + 1 == self.part
