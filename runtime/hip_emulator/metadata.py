"""The metadata of an ISA text: a kernel's arguments and sizes (LLVM, AMDGPU usage, code object V5)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_LINE = re.compile(r"( *)(- )?(\.?[\w.$]+):(?: +(.*))?$")
_ITEM = re.compile(r"( *)- (.*)$")


@dataclass(frozen=True, slots=True)
class Argument:
    """`kind` as the note says: global_buffer, by_value, or a hidden_... that the launch fills."""

    offset: int
    size: int
    kind: str
    name: str
    constant: bool


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a launch must know of a kernel; sizes in bytes."""

    name: str
    arguments: tuple[Argument, ...]
    kernarg_bytes: int
    lds_bytes: int
    scratch_bytes: int
    most_threads: int
    required_block: tuple[int, ...] | None

    @property
    def explicit(self) -> tuple[Argument, ...]:
        """The arguments that a caller gives."""
        return tuple(a for a in self.arguments if not a.kind.startswith("hidden_"))


def kernels_of(note: str) -> list[Metadata]:
    """The kernels of a note."""
    tree = _parse([line for line in note.splitlines() if line.strip() not in ("", "---", "...")])
    return [_kernel(k) for k in tree.get("amdhsa.kernels", [])]


def _kernel(data: dict[str, Any]) -> Metadata:
    block = data.get(".reqd_workgroup_size")
    return Metadata(
        data[".name"].strip("'\""),
        tuple(_argument(a) for a in data.get(".args", [])),
        int(data[".kernarg_segment_size"]),
        int(data[".group_segment_fixed_size"]),
        int(data[".private_segment_fixed_size"]),
        int(data[".max_flat_workgroup_size"]),
        tuple(int(x) for x in block) if block else None,
    )


def _argument(data: dict[str, Any]) -> Argument:
    name = str(data.get(".name", ""))
    constant = data.get(".actual_access") == "read_only" or data.get(".access") == "read_only"
    return Argument(int(data[".offset"]), int(data[".size"]), data[".value_kind"], name, constant)


def _parse(lines: list[str]) -> dict[str, Any]:
    """The regular YAML that LLVM writes: maps and lists by indentation, plain scalars."""
    value, _ = _block(lines, 0, -1)
    return value if isinstance(value, dict) else {}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _block(lines: list[str], at: int, outside: int) -> tuple[Any, int]:
    if at >= len(lines) or (
        _indent(lines[at]) <= outside and not lines[at].lstrip().startswith("- ")
    ):
        return "", at
    indent = _indent(lines[at])
    if lines[at].lstrip().startswith("- "):
        return _list(lines, at, indent)
    return _map(lines, at, indent)


def _list(lines: list[str], at: int, indent: int) -> tuple[list[Any], int]:
    items = []
    while at < len(lines) and _indent(lines[at]) == indent and lines[at].lstrip().startswith("- "):
        if _LINE.match(lines[at]):
            lines[at] = " " * (indent + 2) + lines[at][indent + 2 :]
            item: Any
            item, at = _map(lines, at, _indent(lines[at]))
        else:
            match = _ITEM.match(lines[at])
            item, at = (match[2] if match else ""), at + 1
        items.append(item)
    return items, at


def _map(lines: list[str], at: int, indent: int) -> tuple[dict[str, Any], int]:
    entries: dict[str, Any] = {}
    while at < len(lines) and _indent(lines[at]) == indent:
        match = _LINE.match(lines[at])
        if not match or match[2]:
            break
        at += 1
        if match[4]:
            entries[match[3]] = match[4].strip()
        else:
            entries[match[3]], at = _block(lines, at, indent)
    return entries, at
