"""Windows that are matrices."""

from __future__ import annotations

import itertools
from typing import Any

from dslc.codegen.aie.planning.streams import Stream

_NOTHING: Any = None  # what a window's shape does not depend on


def test_a_matrix_is_all_of_its_window_in_rows_of_the_last_axis() -> None:
    for sizes in itertools.product((1, 4, 8), repeat=3):
        stream = Stream(_NOTHING, False, _NOTHING, (), sizes, 0)
        wide = [n for n in sizes if n > 1]
        if stream.matrix is None:
            assert len(wide) != 2
            assert wide != [sizes[-1]]
        else:
            rows, columns = stream.matrix
            assert rows * columns == stream.elements
            assert columns == (sizes[-1] if len(wide) == 1 else wide[-1])
