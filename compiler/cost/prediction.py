"""A predicted time with all that it is made of."""

from __future__ import annotations

from dataclasses import dataclass, field

_LABELS = {
    "memory": "device memory",
    "cache": "level-2 cache",
    "matrix": "matrix units",
    "issue": "instruction issue",
    "shared": "shared memory",
    "special": "special functions",
    "latency": "latency of one block",
    "launch": "launch",
}


@dataclass(frozen=True, slots=True)
class Prediction:
    """The time of one launch in seconds.

    `terms` are what each unit alone would need for the launch, in seconds: device memory, level-2
    cache, matrix units, instruction issue, shared memory, special functions; `latency` is that of the
    blocks that follow each other on one multiprocessor, `launch` that of an empty kernel. `bound` names
    the largest. `floor_bytes` and `floor_operations` are the roofline: every tensor moved once, every
    multiply-add at the best rate of the machine. `blocks` of the grid run `at_once` on a
    multiprocessor in `waves`; `registers` is an estimate unless it was given.
    """

    seconds: float
    terms: dict[str, float] = field(default_factory=dict)
    bound: str = "launch"
    floor_bytes: float = 0.0
    floor_operations: float = 0.0
    bytes: float = 0.0
    operations: float = 0.0
    blocks: int = 0
    at_once: int = 0
    waves: float = 0.0
    registers: int = 0
    limit: str = ""

    @property
    def floor(self) -> float:
        """The roofline: no kernel for this work is faster."""
        return max(self.floor_bytes, self.floor_operations)

    @property
    def reason(self) -> str:
        """What limits it, in words."""
        return _LABELS[self.bound]

    def __str__(self) -> str:
        share = f", {self.floor / self.seconds:.0%} of the roofline" if self.seconds else ""
        rows = [
            ("predicted", f"{microseconds(self.seconds)}, limited by {self.reason}{share}"),
            ("floor by bytes", f"{microseconds(self.floor_bytes)} for {self.bytes / 1e6:.4g} MB"),
        ]
        if self.operations:
            work = f"{2e-9 * self.operations:.4g} Gflop"
            rows.append(("floor by flops", f"{microseconds(self.floor_operations)} for {work}"))
        rows += [(_LABELS[name], microseconds(t)) for name, t in self.terms.items() if t]
        if self.at_once:
            text = f"{self.blocks}, {self.at_once} at once on a multiprocessor ({self.limit})"
            rows.append(("blocks", f"{text}, {self.waves:.2f} waves"))
        return "\n".join(f"{name + ':':<22}{text}" for name, text in rows)


def microseconds(seconds: float) -> str:
    """A time as a person reads it: `17.3 us`."""
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-2 else f"{seconds * 1e3:.1f} ms"


def together(parts: list[Prediction], launch: float) -> Prediction:
    """Kernels one after another in one dispatch; each but the first costs half a launch."""
    if len(parts) == 1:
        return parts[0]
    names = list(dict.fromkeys(n for p in parts for n in p.terms))
    terms = {n: sum(p.terms.get(n, 0.0) for p in parts) for n in names}
    saved = launch / 2 * max(0, len(parts) - 1)
    terms["launch"] = max(0.0, terms.get("launch", 0.0) - saved)
    return Prediction(
        max(0.0, sum(p.seconds for p in parts) - saved),
        terms,
        max(terms, key=lambda n: terms[n], default="launch"),
        sum(p.floor_bytes for p in parts),
        sum(p.floor_operations for p in parts),
        sum(p.bytes for p in parts),
        sum(p.operations for p in parts),
        sum(p.blocks for p in parts),
    )
