"""The choices of a call that names none, on machines whose sizes are all compiled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dslc.tuner.predicted import remembered

if TYPE_CHECKING:
    from dslc.compilation.templates import TemplateOrigin
    from dslc.kernels import Sizes


class PreferredBlocks:
    """The blocks of one kernel that a machine's model prefers; what was chosen once is remembered."""

    def __init__(self, origin: TemplateOrigin) -> None:
        self._origin = origin
        self._found: dict[tuple[tuple[str, int], ...], Mapping[str, object]] = {}

    def find(self, dims: Mapping[str, int], sizes: Sizes) -> Mapping[str, object]:
        """The choices for these sizes; none where the first stand, or a size is not known."""
        origin = self._origin
        known = {d: dims.get(d, sizes(d)) for d in origin.signature.dims}
        sizes_known = {d: n for d, n in known.items() if n is not None}
        if len(sizes_known) < len(known) or all(len(c) < 2 for c in origin.open_tunes.values()):
            return {}
        key = tuple(sorted(sizes_known.items()))
        if key not in self._found:
            from dslc.tuner.blocks import choose_blocks

            self._found[key] = remembered(
                origin, ("blocks", key), lambda: {"config": choose_blocks(origin, sizes_known)}
            )["config"]
        return self._found[key]
