"""The choices of a call that names none: those that the cost model predicts to be the fastest.

Nothing is compiled or measured. Of the products of a kernel's choices those beside good ones are put in
order by their tiles alone (`climbing`, `dslc.compiler.cost.outline`); the best few are scheduled by the
passes and predicted in full, and the best of these is taken. The same kernel, target and sizes get the
same choice everywhere: the rates are those of the target, and no device is asked. What was chosen is
kept in the compile cache.

Sizes are rounded up, to a power of two and above 128 to one of four steps between two, so that few of
them are ever predicted. Those of dims that a `require` is about, or that are compiled in, stay. What a
kernel may rely on is not rounded: it is scheduled with the divisors that the call's own sizes have.

*Packed weights.* How they are packed follows from the choices, and one packing serves all sizes. So the
first choice is made without looking at the call: for 16 of each dim that the weights do not have, as in
decoding. A call may differ from it only where the packing stays the same.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dslc.compiler.analysis.weights import weight_dims
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.fingerprint import compiler_fingerprint, digest
from dslc.tuner.space import Candidate, Configuration, choices_of

if TYPE_CHECKING:
    from dslc.compilation.templates import TemplateOrigin
    from dslc.kernels import Sizes

_ROWS = 16  # of a dim that packed weights have not
_OPEN = 1024  # of a dim whose size nothing says
_POWERS = 128  # up to here sizes are rounded to powers of two


class PredictedChoices:
    """The predicted choices of one kernel; what was predicted once is remembered."""

    def __init__(self, origin: TemplateOrigin) -> None:
        self._origin = origin
        self._found: dict[tuple[object, ...], Candidate | None] = {}
        self._facts: Mapping[str, Any] | None = None
        self._lock = threading.Lock()

    def find(self, dims: Mapping[str, int], sizes: Sizes) -> Candidate | None:
        """The choices for a call of these sizes; None where there is nothing to choose or to go by.

        `dims` are compiled in; a size that is not known is taken to be 1024.
        """
        origin = self._origin
        if not origin.machine.target.is_rated:
            return None
        if all(len(choices) < 2 for choices in origin.open_tunes.values()):
            return None
        known = {d: dims.get(d, sizes(d)) for d in origin.signature.dims}
        with self._lock:
            return self._choose(known)

    def _choose(self, known: Mapping[str, int | None]) -> Candidate | None:
        usual = {d: _OPEN if n is None else n for d, n in known.items()}
        if self._facts is None:
            self._facts = remembered(self._origin, ("facts",), lambda: self._look(usual))
        kept = ("required", "packed", "static")
        exact = {*self._origin.fixed, *(d for name in kept for d in self._facts[name])}
        rounded = {d: n if d in exact else rounded_up(n) for d, n in usual.items()}
        if not self._facts["packed"]:
            return self._best(rounded, known)
        few = {d: n if d in exact else _ROWS for d, n in usual.items()}
        base = self._best(few, few)
        sizes = {**rounded, **{d: _ROWS for d, n in known.items() if n is None}}
        if base is None or not base.storage or sizes == few:
            return base
        return self._best(sizes, known, base)

    def others(
        self, dims: Mapping[str, int], sizes: Sizes, refused: Mapping[str, object]
    ) -> list[Mapping[str, object]]:
        """The other choices, the best by their outlines first; in the kernel's order without rates."""
        from dslc.tuner.ranking import Ranking

        known = {d: dims.get(d, sizes(d)) for d in self._origin.signature.dims}
        products = [c for c in self._products() if c.config != refused]
        if self._origin.machine.target.rates is not None:
            usual = {d: _OPEN if n is None else n for d, n in known.items()}
            products = Ranking(self._origin, usual, None, known).in_order(products)
        return [c.config for c in products]

    def _look(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        """The dims that requirements are about, and those of weights that the compiler packs."""
        from dslc.tuner.ranking import Ranking

        origin = self._origin
        narrow = any(p.dtype.bits <= 8 and p.dims for p in origin.signature.parameters)
        ranking = Ranking(origin, sizes)
        for configuration in self._products():
            with contextlib.suppress(DiagnosticError):
                elaborated = ranking.elaborated(configuration)
                names = {p.name for p in ranking.packed(elaborated)} if narrow else set()
                packed = weight_dims(elaborated.program, names) & {*origin.signature.dims}
                return {
                    "required": sorted(elaborated.required),
                    "packed": sorted(packed),
                    "static": sorted(elaborated.dims),
                }
        return {"required": [], "packed": [], "static": []}

    def _best(
        self,
        sizes: Mapping[str, int],
        exact: Mapping[str, int | None],
        base: Candidate | None = None,
    ) -> Candidate | None:
        """The best for sizes, of those with the storage of a base where that is given.

        Kernels rely on what divides the exact sizes.
        """
        told = self._origin.divisors({}, exact.get)
        key = (tuple(sorted(sizes.items())), told, base.configuration if base else None)
        if key not in self._found:
            data = remembered(self._origin, key, lambda: self._rank(sizes, exact, base))
            self._found[key] = self._read(data)
        return self._found[key]

    def _rank(
        self,
        sizes: Mapping[str, int],
        exact: Mapping[str, int | None],
        base: Candidate | None,
    ) -> dict[str, Any]:
        from dslc.tuner.ranking import Ranking

        best = Ranking(self._origin, sizes, base, exact).best(self._products())
        if best is None:
            return {}
        return {**asdict(best), "configuration": best.configuration.plain}

    def _read(self, data: Mapping[str, Any]) -> Candidate | None:
        if not data:
            return None
        plain = data["configuration"]
        configuration = next((c for c in self._products() if c.plain == plain), None)
        if configuration is None:
            return None
        return Candidate(configuration, data["seconds"], data["storage"], data["among"])

    def _products(self) -> list[Configuration]:
        """The products of choices, that of the first ones first."""
        return choices_of(self._origin.open_tunes, {}, self._origin.defaults)


def rounded_up(size: int) -> int:
    """The size that stands for others a little smaller."""
    if size <= _POWERS:
        return 1 << max(0, size - 1).bit_length()
    step = 1 << (size.bit_length() - 3)
    return -(-size // step) * step


def remembered(
    origin: TemplateOrigin, what: tuple[object, ...], compute: Callable[[], dict[str, Any]]
) -> Mapping[str, Any]:
    """What was computed for a kernel in these versions, from the compile cache or into it."""
    cache = origin.options.cache
    if cache is None:
        return compute()
    name, target = origin.signature.name, origin.machine.target.name
    parts = [name, target, origin.identity(), compiler_fingerprint(), repr(what)]
    key = digest({"prediction": repr((parts, sorted(origin.fixed.items())))})

    def manifest() -> tuple[dict[str, bytes], dict[str, Any]]:
        return {}, {"name": name, "target": target, "prediction": compute()}

    try:
        prediction: Mapping[str, Any] = cache.fetch(key, manifest).manifest["prediction"]
    except DiagnosticError:
        return compute()  # the cache cannot be used: compiling will say so
    return prediction
