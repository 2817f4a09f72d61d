"""What a compiled kernel takes of a multiprocessor, as the assembler reports it (`ptxas -v`)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_SERIALIZED = re.compile(
    r"wgmma\.mma_async instructions are serialized .* in the function '([^']+)'"
)
_BARRIERS = re.compile(r"used (\d+) barriers")


@dataclass(frozen=True, slots=True)
class Resources:
    """Of one kernel: registers of a thread; bytes of stack and spills of a thread; static shared bytes.

    Shared memory that the launch asks for is not in it. `serialized` is 1 where the assembler has every
    product of warpgroups wait for the one before (its remarks C7510 and those after it say why).
    """

    registers: int
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    shared: int = 0
    barriers: int = 0
    serialized: int = 0

    @property
    def spills(self) -> bool:
        """Whether registers were spilled to memory, or an array of registers was indexed there."""
        return bool(self.stack or self.spill_stores or self.spill_loads)

    def to_data(self) -> dict[str, int]:
        """The fields by name, as a manifest holds them."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_data(data: Mapping[str, int]) -> Resources:
        """The inverse of `to_data`."""
        return Resources(**data)


def parse_resources(log: str) -> dict[str, Resources]:
    """The resources of every kernel by its name, from the log of `ptxas -v`."""
    by_kernel: dict[str, Resources] = {}
    name, stack = "", (0, 0, 0)
    serialized = set(_SERIALIZED.findall(log))
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            name, stack = entry[1], (0, 0, 0)
        elif frame := _STACK.search(line):
            stack = (int(frame[1]), int(frame[2]), int(frame[3]))
        elif name and (used := _USED.search(line)):
            shared, barriers = _number(_SHARED, line), _number(_BARRIERS, line)
            waits = int(name in serialized)
            by_kernel[name] = Resources(int(used[1]), *stack, shared, barriers, waits)
    return by_kernel


def _number(pattern: re.Pattern[str], line: str) -> int:
    match = pattern.search(line)
    return int(match[1]) if match else 0
