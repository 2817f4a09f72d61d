"""The configurations of a kernel: every product of tune choices and launch options."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dslc.calls.launch_options import OPTIONS
from dslc.compiler.manifest import plain_choice

# Launch options that are tried beside the compiler's own choice.
TRIED: Mapping[str, tuple[int, ...]] = {"warps": (2, 4, 8, 16), "stages": (2, 3, 4, 5, 6)}
_LARGEST = 20_000  # products that are listed; of more, as many are drawn

Value = object


@dataclass(frozen=True, slots=True)
class Configuration:
    """Tune choices and launch options; an option that is not named is the compiler's choice."""

    values: tuple[tuple[str, Value], ...]

    @property
    def config(self) -> dict[str, Value]:
        """By name."""
        return dict(self.values)

    @property
    def plain(self) -> dict[str, int | str]:
        """By name, as results on disk hold them."""
        return {n: plain_choice(v) for n, v in self.values}

    def is_beside(self, other: Configuration) -> bool:
        """Whether at most one of the same choices is another one."""
        mine, theirs = self.config, other.config
        return mine.keys() == theirs.keys() and sum(mine[n] != theirs[n] for n in mine) <= 1

    def __str__(self) -> str:
        return " ".join(f"{n}={v}" for n, v in self.values) or "the compiler's choices"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration with its predicted seconds; `among` so many that were compared.

    `storage` is a hash of how weights are packed, empty where nothing is.
    """

    configuration: Configuration
    seconds: float
    storage: str = ""
    among: int = 1

    @property
    def config(self) -> dict[str, object]:
        """The choices by name."""
        return self.configuration.config

    def __str__(self) -> str:
        return f"the fastest of {self.among} by prediction, {self.seconds * 1e6:.4g} us"


def choices_of(
    tunes: Mapping[str, Sequence[Value]], fixed: Mapping[str, Value], defaults: Mapping[str, Value]
) -> list[Configuration]:
    """Every product of tune choices, the default first.

    `fixed` settles some of the names, launch options among them.
    """
    names = list(dict.fromkeys((*tunes, *fixed)))
    values = [[fixed[n]] if n in fixed else _default_first(tunes[n], defaults[n]) for n in names]
    products = (
        Configuration(tuple(zip(names, v, strict=True))) for v in itertools.product(*values)
    )
    return list(itertools.islice(products, _LARGEST))


def with_options(
    configurations: Iterable[Configuration],
    taken: Iterable[str],
) -> Iterator[Configuration]:
    """Each with every product of launch options, but for names that are taken.

    Those as they are come first.
    """
    options = [n for n in OPTIONS if n not in set(taken)]
    tried = [(None, *TRIED.get(n, ())) for n in options]
    for configuration in configurations:
        for product in itertools.product(*tried):
            chosen = [(n, v) for n, v in zip(options, product, strict=True) if v is not None]
            yield Configuration((*configuration.values, *chosen))


def drawn(configurations: Sequence[Configuration], count: int, seed: int) -> list[Configuration]:
    """At most so many, the first and a random choice of the others, in their order."""
    if len(configurations) <= count:
        return list(configurations)
    others = random.Random(seed).sample(range(1, len(configurations)), count - 1)
    return [configurations[i] for i in (0, *sorted(others))]


def _default_first(choices: Sequence[Value], default: Value) -> list[Value]:
    return [default, *(c for c in choices if c != default)]
