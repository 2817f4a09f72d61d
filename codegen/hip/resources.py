"""What a compiled kernel takes of a compute unit, from the metadata of its code object."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass

_METADATA = re.compile(r"\.amdgpu_metadata\n(.*?)\.end_amdgpu_metadata", re.DOTALL)
_KERNEL = re.compile(r"^  - (?=\S)", re.MULTILINE)
_FIELD = re.compile(r"^\s*\.(\w+):\s+(\S+)\s*$", re.MULTILINE)
_FIELDS = {
    "registers": "vgpr_count",
    "accumulation": "agpr_count",
    "scalars": "sgpr_count",
    "stack": "private_segment_fixed_size",
    "spilled": "vgpr_spill_count",
    "spilled_scalars": "sgpr_spill_count",
    "shared": "group_segment_fixed_size",
}


@dataclass(frozen=True, slots=True)
class Resources:
    """Of one kernel: a lane's vector registers, of which `accumulation` are AGPRs; a wave's scalars.

    `stack` are bytes of memory of a lane, `spilled` its registers that were spilled there,
    `spilled_scalars` those of a wave (most go to lanes of vector registers), `shared` bytes of LDS of
    a workgroup.
    """

    registers: int
    accumulation: int = 0
    scalars: int = 0
    stack: int = 0
    spilled: int = 0
    spilled_scalars: int = 0
    shared: int = 0

    @property
    def spills(self) -> bool:
        """Whether registers were spilled to memory, or an array of registers was indexed there."""
        return bool(self.stack or self.spilled)

    def to_data(self) -> dict[str, int]:
        """The fields by name, as a manifest holds them."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_data(data: Mapping[str, int]) -> Resources:
        """The inverse of `to_data`."""
        return Resources(**data)


def parse_resources(isa: str) -> dict[str, Resources]:
    """The resources of every kernel by its name, from the ISA text with its metadata."""
    resources: dict[str, Resources] = {}
    for block in _METADATA.findall(isa):
        for text in _KERNEL.split(block)[1:]:
            fields = dict(_FIELD.findall("    " + text))
            if "name" in fields:
                numbers = {name: int(fields.get(key, 0)) for name, key in _FIELDS.items()}
                resources[fields["name"]] = Resources(**numbers)
    return resources
