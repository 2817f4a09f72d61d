"""What a tuning found, as data: for which sizes, on which machine, with which versions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, isfinite, log2
from typing import Any, get_type_hints

from dslc.compiler.fingerprint import digest

_FARTHEST = 4  # buckets that a size may lie below the one that was tuned

Sizes = Callable[[str], "int | None"]


@dataclass(frozen=True, slots=True)
class Environment:
    """What a result depends on beside the sizes: another one of these is another tuning.

    `source` is the kernel's text with its definitions, `compiler` dslc's own hash, `toolchain` NVRTC
    and its options.
    """

    kernel: str
    target: str
    source: str
    compiler: str
    toolchain: str

    @property
    def key(self) -> str:
        """A SHA-256 (hex) of all of it."""
        return digest(dataclasses.asdict(self))


@dataclass(frozen=True, slots=True)
class Record:
    """The best configuration for some sizes.

    `dims` are the sizes as they were measured; those in `fixed` were compiled in, and those in `exact`
    decide how weights are stored: in both a call's must be equal. The others stand for their bucket,
    the powers of two. `config` has tune choices and launch options, `storage` a hash of how weights are
    packed for it (empty without such). Times are seconds of a launch.
    """

    environment: Environment
    device: str
    driver: str
    dims: dict[str, int]
    fixed: tuple[str, ...]
    exact: tuple[str, ...]
    config: dict[str, int | str]
    storage: str
    seconds: float
    default_seconds: float
    tried: int
    date: str
    complete: bool = True
    fixed_dims: dict[str, int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fixed_dims", {d: self.dims[d] for d in self.fixed})

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """The dims in order: with the machine they tell two results of a kernel apart."""
        return tuple(sorted(self.dims.items()))

    def to_data(self) -> dict[str, Any]:
        """As JSON holds it."""
        data = dataclasses.asdict(self)
        del data["fixed_dims"]
        return data

    @staticmethod
    def from_data(data: object) -> Record:
        """The inverse of `to_data`; ValueError says what is wrong."""
        fields = _checked(Record, data)
        fields["environment"] = Environment(**_checked(Environment, fields["environment"]))
        for name in ("fixed", "exact"):
            fields[name] = tuple(fields[name])
            if not all(isinstance(dim, str) for dim in fields[name]):
                raise ValueError(f"{name} are names of dims")
        if not all(isfinite(fields[name]) for name in ("seconds", "default_seconds")):
            raise ValueError("seconds are finite")
        sizes: Mapping[str, object] = fields["dims"]
        if not all(_is_int(n) for n in sizes.values()):
            raise ValueError("dims are whole numbers")
        if not set(fields["fixed"]) | set(fields["exact"]) <= sizes.keys():
            raise ValueError("a dim that is fixed has no size")
        if not all(_is_int(v) or isinstance(v, str) for v in fields["config"].values()):
            raise ValueError("choices are whole numbers or texts")
        return Record(**fields)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "float": (float, int),
    "int": (int,),
    "bool": (bool,),
    "dict": (dict,),
    "tuple": (list, tuple),
    "Environment": (dict,),
}


def _checked(cls: Any, data: object) -> dict[str, Any]:
    """The fields of a dataclass from JSON; ValueError for another form."""
    fields = {f.name for f in dataclasses.fields(cls) if f.init}
    if not isinstance(data, dict) or set(data) != fields:
        raise ValueError(f"a {cls.__name__.lower()} has the fields {', '.join(sorted(fields))}")
    hints = get_type_hints(cls)
    for name in fields:
        hint = hints[name]
        kinds = _KINDS[getattr(hint, "__origin__", hint).__name__]
        if not isinstance(data[name], kinds):
            raise ValueError(f"{name} is not {kinds[0].__name__}")
    return dict(data)


def bucket(size: int) -> int:
    """The number of the power of two from which on no size is greater: 4 for 9 to 16."""
    return ceil(log2(max(1, size)))


def nearest(records: Iterable[Record], size: Sizes) -> Record | None:
    """The record that serves a call of these sizes best, None where none does.

    Sizes that are exact are equal, or not known. Of the others the record's buckets are those of the
    call or the nearest above, at most 16 times larger; where a size is not known, the largest is
    taken. Where weights are stored for the choices, one storage has to serve all sizes: there the
    nearest record is taken however far it is.
    """
    by_distance: list[tuple[tuple[float, ...], Record]] = []
    for record in records:
        distance = _distance(record, size)
        if distance is not None:
            by_distance.append((distance, record))
    return min(by_distance, key=lambda f: f[0], default=(None, None))[1]


def _distance(record: Record, size: Sizes) -> tuple[float, ...] | None:
    exact = {*record.fixed, *record.exact}
    total, below, unknown = 0, 0, 0
    for dim, tuned in record.dims.items():
        wanted = size(dim)
        if wanted is None:
            unknown -= tuned
            continue
        if dim in exact:
            # A fixed dim that no storage depends on may differ: the storage still has to serve.
            if wanted == tuned:
                continue
            if dim in record.exact or not record.storage:
                return None
        steps = bucket(tuned) - bucket(wanted)
        if steps < 0 or steps > _FARTHEST or dim in record.fixed:
            if not record.storage:
                return None
            below += abs(steps) if steps < 0 else 0
        total += abs(steps)
    return below, total, unknown, -record.seconds
