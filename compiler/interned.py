"""Nodes of which equal ones are one object, so that comparing and hashing them costs nothing.

Hash consing (Ershov 1958; Filliatre and Conchon, "Type-Safe Modular Hash-Consing", ML 2006): a
constructor gives the object that was made before from the same arguments, while that one lives.

    @dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
    class Var(Interned): ...

    Var("m", INDEX) is Var("m", INDEX)
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Hashable
from typing import Any


class _Entry(weakref.ref[Any]):
    """A node of the table, which leaves it when the node dies."""

    __slots__ = ("key",)
    key: Hashable


_TABLE: dict[Hashable, _Entry] = {}
_RECENT: deque[Any] = deque(maxlen=1 << 14)  # stay alive: most nodes are made again soon
# Re-entrant, since a collection within the constructor calls `_forget`.
_LOCK = threading.RLock()


def _forget(entry: weakref.ref[Any]) -> None:
    assert isinstance(entry, _Entry)
    with _LOCK:
        if _TABLE.get(entry.key) is entry:
            del _TABLE[entry.key]


class _Interning(type):
    def __call__(cls, *args: Any, **named: Any) -> Any:
        missing = len(args) - len(cls.__match_args__)  # type: ignore[attr-defined]
        if named:
            given = super().__call__(*args, **named)
            args = tuple(getattr(given, name) for name in given.__match_args__)
        elif missing:
            args += cls.__init__.__defaults__[missing:]  # type: ignore[misc]
        key = (cls, *cls.identity(*args))  # type: ignore[attr-defined]
        entry = _TABLE.get(key)
        value = entry and entry()
        return cls._make(key, args) if value is None else value

    def _make(cls, key: Hashable, args: tuple[Any, ...]) -> Any:
        with _LOCK:
            entry = _TABLE.get(key)
            value = entry and entry()
            if value is None:
                value = super().__call__(*args)
                entry = _Entry(value, _forget)
                entry.key = key
                _TABLE[key] = entry
                _RECENT.append(value)
            return value


class Interned(metaclass=_Interning):
    """A frozen dataclass with slots, a weakref slot and no `eq`, whose fields are hashable."""

    __slots__ = ()

    @staticmethod
    def identity(*args: Hashable) -> tuple[Hashable, ...]:
        """What two nodes that are one agree in. `1`, `1.0` and `True` do not differ by themselves."""
        return args

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), tuple(getattr(self, name) for name in self.__match_args__)  # type: ignore[attr-defined]
