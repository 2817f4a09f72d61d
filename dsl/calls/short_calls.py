"""Calls that look like one before take a short way, without matching, checking and binding again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from dslc.calls.settings import CURRENT

if TYPE_CHECKING:
    from dslc.calls.signature import Signature
    from dslc.machines.machine import ShortCall

_MOST = 32  # ways tried before the long one; each costs a comparison of the arguments
_MOST_FORMS = 64
_MOST_OPTIONS = 256


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


class _Form:
    """Calls that name the same things by keyword, after as many arguments by position."""

    __slots__ = ("_arguments", "_options", "_ways")

    def __init__(self, arguments: Sequence[str], options: Sequence[str]) -> None:
        self._arguments = _getter(arguments) if arguments else None
        self._options = _getter(options)
        self._ways: dict[object, ShortCalls] = {}  # by the values of tunes and dims

    def run(self, args: tuple[object, ...], named: Mapping[str, object]) -> bool:
        try:
            ways = self._ways.get(self._options(named))
        except TypeError:  # a value that is none of a tune or dim
            return False
        if ways is None:
            return False
        return ways.run((*args, *self._arguments(named)) if self._arguments else args)

    def add(self, named: Mapping[str, object], call: ShortCall) -> None:
        if len(self._ways) >= _MOST_OPTIONS:
            self._ways = {}
        self._ways.setdefault(self._options(named), ShortCalls()).add(call)


class CallForms:
    """The short ways of one kernel, by the form of the call: what it names by keyword."""

    __slots__ = ("_forms", "_plain")

    def __init__(self) -> None:
        self._plain = ShortCalls()
        self._forms: dict[tuple[object, ...], _Form] = {}

    def run(self, args: tuple[object, ...], named: Mapping[str, object]) -> bool:
        """Run by a short way if the call is like one that was added."""
        if not named:
            return self._plain.run(args)
        form = self._forms.get((len(args), *named))
        return form is not None and form.run(args, named)

    def add(
        self,
        signature: Signature,
        args: tuple[object, ...],
        named: Mapping[str, object],
        call: ShortCall | None,
    ) -> None:
        """Remember the way of a call that went the long one, if there is one."""
        if call is None:
            return
        if not named:
            self._plain.add(call)
            return
        key = (len(args), *named)
        form = self._forms.get(key)
        if form is None:
            if len(self._forms) >= _MOST_FORMS:
                self._forms = {}
            arguments = [p.name for p in signature.parameters[len(args) :]]
            form = _Form(arguments, [name for name in named if name not in arguments])
            self._forms[key] = form
        form.add(named, call)


def _getter(names: Sequence[str]) -> Callable[[Mapping[str, object]], tuple[Any, ...]]:
    """What gives the values of these names, in order."""
    if len(names) > 1:
        return itemgetter(*names)
    if names:
        return lambda named: (named[names[0]],)
    return lambda named: ()
