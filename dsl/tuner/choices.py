"""The tuned choices of one kernel, as its calls and builds look them up."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dslc.calls.launch_options import OPTIONS, as_option
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.fingerprint import compiler_fingerprint
from dslc.compiler.manifest import plain_choice

if TYPE_CHECKING:
    from dslc.compilation.templates import TemplateOrigin
    from dslc.tuner.records import Environment, Record, Sizes


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a record means for a call: choices as the kernel has them, and the dims to compile in."""

    config: Mapping[str, object]
    fixed_dims: Mapping[str, int]
    record: Record


class TunedChoices:
    """Looks in the store once; `add` makes a new result known to this process at once."""

    def __init__(self, origin: TemplateOrigin) -> None:
        self._origin = origin
        self._records: list[Record] | None = None
        self.tried: set[object] = set()  # sizes that a call has tuned, or failed to
        self._lock = threading.Lock()

    def find(self, size: Sizes) -> Tuned | None:
        """The choices for a call of these sizes; None where nothing fitting was tuned."""
        records = self._records
        if records is None:
            with self._lock:
                records = self._records = self._load()
        if not records:
            return None
        from dslc.tuner.records import nearest

        record = nearest(records, size)
        return None if record is None else self._tuned(record, size)

    def known(self) -> list[Record]:
        """All results for this kernel, these versions and this machine."""
        self.find(lambda dim: None)
        return list(self._records or ())

    def add(self, record: Record, without: Sequence[Record] = ()) -> None:
        """Use a new result from now on, and some others no more."""
        known = [r for r in self.known() if r.sizes != record.sizes and r not in without]
        self._records = [*known, record]

    def take(self, records: Sequence[Record]) -> None:
        """Go by these results instead of the store's, as far as they are for this kernel."""
        if self._origin.machine.facts.tuning == "measured" and records:
            environment = self.environment()
            own = [r for r in records if r.environment == environment]
            self._records = self._usable(own)
        else:
            self._records = []

    def environment(self) -> Environment:
        """What results for this kernel depend on; DSL0951 without a compiler."""
        from dslc.tuner.records import Environment

        origin = self._origin
        machine = origin.machine
        return Environment(
            origin.signature.name,
            machine.target.name,
            origin.identity(),
            compiler_fingerprint(),
            machine.toolchain(),
        )

    def _load(self) -> list[Record]:
        origin = self._origin
        cache = origin.options.cache
        if cache is None or origin.machine.facts.tuning is None:
            return []
        from dslc.tuner.store import TuningStore

        store = TuningStore(cache.root)
        if not store.has(origin.signature.name):
            return []
        return self._usable(store.records(self.environment()))

    def _usable(self, records: Sequence[Record]) -> list[Record]:
        offered = [r for r in records if self._offers(r)]
        here = self._origin.machine.present_device() if offered else None
        # Where no such GPU is present, as on a machine that builds, the results of any serve.
        return offered if here is None else [r for r in offered if (r.device, r.driver) == here]

    def _offers(self, record: Record) -> bool:
        """Whether the kernel has these dims, tunes and choices: a file may say anything."""
        signature = self._origin.signature
        if set(record.dims) != set(signature.dims):
            return False
        for name, value in record.config.items():
            if name in signature.tunes:
                if value not in [plain_choice(c) for c in signature.tunes[name]]:
                    return False
            elif name not in OPTIONS or not _is_option(name, value):
                return False
        return True

    def _tuned(self, record: Record, size: Sizes) -> Tuned:
        tunes = self._origin.signature.tunes
        config = {
            n: next(c for c in tunes[n] if plain_choice(c) == v) if n in tunes else v
            for n, v in record.config.items()
        }
        fixed = {d: n for d, n in record.fixed_dims.items() if size(d) == n}
        return Tuned(config, fixed, record)


def _is_option(name: str, value: object) -> bool:
    try:
        as_option(name, value)
    except DiagnosticError:
        return False
    return True
