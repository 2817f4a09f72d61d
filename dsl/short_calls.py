"""Calls that look like one before take a short way, without matching, checking and binding again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dslc.settings import CURRENT

if TYPE_CHECKING:
    from dslc.machines import ShortCall

_MOST = 32  # ways tried before the long one; each costs a comparison of the arguments


class ShortCalls:
    """The short ways of one kernel with one choice of its tunes, the last used first."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: tuple[ShortCall, ...] = ()  # replaced as a whole: threads read it

    def run(self, arguments: Sequence[object]) -> bool:
        """Run by a short way if the arguments, in the order of the parameters, fit one."""
        calls = self._calls
        if not calls:
            return False
        stream = CURRENT.get().stream
        return calls[0](arguments, stream) or self._run_another(arguments, stream)

    def _run_another(self, arguments: Sequence[object], stream: object) -> bool:
        calls = self._calls
        for call in calls[1:]:
            if call(arguments, stream):
                self._calls = (call, *(c for c in calls if c is not call))
                return True
        return False

    def add(self, call: ShortCall | None) -> None:
        """Remember a way, if there is one."""
        if call is not None:
            self._calls = (call, *self._calls[: _MOST - 1])
