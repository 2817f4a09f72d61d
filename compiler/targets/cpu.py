"""CPUs that LLVM makes code for: features, vectors and caches of each, by LLVM's name for it.

What code may use is a level of the psABI (x86-64 psABI, "Micro-architecture levels") or of Arm's
architecture, and features beyond it; the name alone says how instructions are ordered (`tune-cpu`). So
what a kernel needs of a CPU is `Processor.features`, all of it. Matrix units and vectors of variable
length (AMX, SVE, SME) are not offered: nothing here has run them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from dslc.compiler.targets.cpu_rates import core_rates
from dslc.compiler.targets.target import MemorySpace, Target

Machine = Literal["x86_64", "aarch64"]


@dataclass(frozen=True, slots=True)
class Processor:
    """One kind of CPU.

    `features` is all that its code needs beyond what every CPU of the machine has, by the names that
    systems tell; `base` is LLVM's CPU that has no others, `tune` the one whose timing orders
    instructions.

    Vectors have `vector_bits`, and `registers` of them can be named. The caches are those that a core
    has for itself, `l1` for data, and its share of the last one, in bytes.
    """

    machine: Machine
    base: str
    tune: str
    features: frozenset[str]
    vector_bits: int
    registers: int
    l1: int
    l2: int
    l3: int

    @property
    def attributes(self) -> str:
        """The features as LLVM takes them, in order: `+avx,+avx2`.

        On Arm x18 is the platform's, which Linux alone leaves to code: it is used nowhere.
        """
        names = [_LLVM.get(name, name) for name in sorted(self.features)]
        if self.machine == "aarch64":
            names.append("reserve-x18")
        return ",".join(f"+{name}" for name in names)

    @property
    def atoms(self) -> tuple[str, ...]:
        """The mnemonics of the dot-accumulate instructions, the narrowest operands last."""
        present = (a for feature, atoms in _ATOMS if feature in self.features for a in atoms)
        return tuple(dict.fromkeys(present))


_ATOMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("avx512bf16", ("vdpbf16ps",)),
    ("avx2", ("vpmaddwd", "vpmaddubsw")),
    ("avx512vnni", ("vpdpwssd", "vpdpbusd")),
    ("avxvnni", ("vpdpwssd", "vpdpbusd")),
    ("amxbf16", ("tdpbf16ps",)),
    ("amxint8", ("tdpbssd", "tdpbsud", "tdpbusd", "tdpbuud")),
    ("bf16", ("bfdot", "bfmmla")),
    ("dotprod", ("sdot", "udot")),
    ("i8mm", ("usdot", "smmla", "ummla", "usmmla")),
)

# What LLVM calls them, where that differs.
_LLVM = {"fp16": "fullfp16"}
_LLVM |= {"amxtile": "amx-tile", "amxint8": "amx-int8", "amxbf16": "amx-bf16"}

_V2 = frozenset({"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"})
V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}
V4 = V3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
_VNNI = V4 | {"avx512vnni"}
_VBMI = frozenset({"avx512bitalg", "avx512vbmi", "avx512vbmi2", "avx512vpopcntdq"})
_ICE_LAKE = _VNNI | _VBMI | {"avx512ifma", "gfni"}
_ZEN4 = _ICE_LAKE | {"avx512bf16"}
_AMX = frozenset({"amxtile", "amxint8", "amxbf16"})

_ARMV8 = frozenset[str]()
_ARMV8_2 = _ARMV8 | {"dotprod", "fp16"}
_ARMV8_6 = _ARMV8_2 | {"bf16", "i8mm"}

_K, _M = 1 << 10, 1 << 20


def _x86(tune: str, features: frozenset[str], l1: int, l2: int, l3: int) -> Processor:
    wide = "avx512f" in features
    base = "x86-64-v4" if wide else "x86-64-v3"
    return Processor(
        "x86_64", base, tune, features, 512 if wide else 256, 32 if wide else 16, l1, l2, l3
    )


def _arm(tune: str, features: frozenset[str], l1: int, l2: int, l3: int) -> Processor:
    return Processor("aarch64", "generic", tune, features, 128, 32, l1, l2, l3)


# The caches of a level are the least of CPUs that have it, so that a panel fits all of them.
_PROCESSORS: Mapping[str, Processor] = {
    "x86-64-v3": _x86("x86-64-v3", V3, 32 * _K, 256 * _K, 1 * _M),
    "znver3": _x86("znver3", V3, 32 * _K, 512 * _K, 4 * _M),
    "alderlake": _x86("alderlake", V3 | {"avxvnni", "gfni"}, 48 * _K, 1280 * _K, 3 * _M),
    "x86-64-v4": _x86("x86-64-v4", V4, 32 * _K, 1 * _M, 1 * _M),
    "cascadelake": _x86("cascadelake", _VNNI, 32 * _K, 1 * _M, 1408 * _K),
    "icelake-server": _x86("icelake-server", _ICE_LAKE, 48 * _K, 1280 * _K, 1536 * _K),
    "sapphirerapids": _x86(
        "sapphirerapids", _ZEN4 | _AMX | {"avx512fp16", "avxvnni"}, 48 * _K, 2 * _M, 1920 * _K
    ),
    "znver4": _x86("znver4", _ZEN4, 32 * _K, 1 * _M, 4 * _M),
    "znver5": _x86("znver5", _ZEN4 | {"avxvnni"}, 48 * _K, 1 * _M, 4 * _M),
    "armv8-a": _arm("generic", _ARMV8, 32 * _K, 256 * _K, 512 * _K),
    "neoverse-n1": _arm("neoverse-n1", _ARMV8_2, 64 * _K, 1 * _M, 1 * _M),
    "apple-m1": _arm("apple-m1", _ARMV8_2, 64 * _K, 2 * _M, 2 * _M),
    "neoverse-v2": _arm("neoverse-v2", _ARMV8_6, 64 * _K, 2 * _M, 2 * _M),
    "apple-m2": _arm("apple-m2", _ARMV8_6, 64 * _K, 2 * _M, 2 * _M),
}


def processor_of(target: Target) -> Processor:
    """The CPU of a target of this family; of a set the one that has the least."""
    return processor_by_name(target.name)


def processor_by_name(name: str) -> Processor:
    """The same by the target's name."""
    return _PROCESSORS[SETS.get(name, (name,))[0].partition(":")[2]]


_TITLES: Mapping[str, str] = {
    "x86-64-v3": "x86-64 with AVX2 and FMA (level v3 of the psABI)",
    "znver3": "AMD Zen 3",
    "alderlake": "Intel Alder Lake, with AVX-VNNI",
    "x86-64-v4": "x86-64 with AVX-512 (level v4 of the psABI)",
    "cascadelake": "Intel Cascade Lake, with VNNI",
    "icelake-server": "Intel Ice Lake, with VNNI and VBMI",
    "sapphirerapids": "Intel Sapphire Rapids, with AMX, VNNI, BF16 and FP16",
    "znver4": "AMD Zen 4, with VNNI, BF16 and VBMI",
    "znver5": "AMD Zen 5, with VNNI, BF16 and VBMI",
    "armv8-a": "Armv8.0-A",
    "neoverse-n1": "Arm Neoverse N1, with dotprod and fp16",
    "apple-m1": "Apple M1, with dotprod and fp16",
    "neoverse-v2": "Arm Neoverse V2, with i8mm and bf16",
    "apple-m2": "Apple M2, with i8mm and bf16",
}


def _memories(cpu: Processor) -> tuple[MemorySpace, ...]:
    return (
        MemorySpace("register", cpu.registers * cpu.vector_bits // 8, "core"),
        MemorySpace("l1", cpu.l1, "core"),
        MemorySpace("l2", cpu.l2, "core"),
    )


def _target(name: str) -> Target:
    cpu = _PROCESSORS[name]
    return Target(
        f"cpu:{name}",
        "cpu",
        _TITLES[name],
        1,
        1,
        _memories(cpu),
        core_rates=core_rates(name, cpu.vector_bits, cpu.features),
    )


SETS: Mapping[str, tuple[str, ...]] = {
    "cpu:x86-64": ("cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:znver4"),
    "cpu:arm64": ("cpu:armv8-a", "cpu:neoverse-n1", "cpu:neoverse-v2"),
}
"""Targets of several kinds in one library, which is for all CPUs that have what the first needs."""


def _set(name: str) -> Target:
    title = f"{', '.join(n.partition(':')[2] for n in SETS[name])} in one library"
    return Target(name, "cpu", title, 1, 1, _memories(processor_by_name(name)))


TARGETS = (*map(_target, _PROCESSORS), *map(_set, SETS))


def best_of(
    names: Iterable[str], machine: str, features: frozenset[str], maker: str = ""
) -> str | None:
    """The best of these kinds of CPU for one of a machine with such features; None where none fits.

    That is the one with the most features; of equals one whose name begins with `maker`, or the first.
    """
    listed = set(names)
    fitting = [
        n
        for n, p in _PROCESSORS.items()
        if n in listed and p.machine == machine and p.features <= features
    ]
    return max(
        fitting, key=lambda n: (len(_PROCESSORS[n].features), n.startswith(maker)), default=None
    )
