"""Which cases of a long table `make test` runs: the same every time, spread over the whole table."""

from __future__ import annotations

import os

# Where a seed is given random cases are new ones, and many.
IS_FIXED = "DSLC_TEST_SEED" not in os.environ


def stays(case: int, of: int) -> bool:
    """Whether a case stays in `make test`, one of so many neighbours.

    Those that stay are on a diagonal: in a table of two axes whose inner one has `of` values, each row
    has one, and so has each column of any `of` rows.
    """
    return (case + case // of) % of == 0


def drawn(few: int) -> int:
    """How many examples a property draws: few in `make test`, eight times as many with a seed."""
    return few if IS_FIXED else 8 * few
