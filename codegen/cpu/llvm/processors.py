"""What LLVM and legalisation are told of a processor."""

from __future__ import annotations

from dslc.compiler.targets.cpu import Processor
from dslc.compiler.vector.atoms import ATOMS
from dslc.compiler.vector.legal import Capabilities

_SYSTEMS = {
    "linux": "{}-unknown-linux-gnu",
    "macos": "{}-apple-macosx11.0.0",
    "windows": "{}-pc-windows-msvc",
}
_ARM = {"aarch64": "arm64"}


def triple_of(processor: Processor, system: str) -> str:
    """LLVM's name of a machine with its system, `x86_64-unknown-linux-gnu`."""
    machine = (
        _ARM.get(processor.machine, processor.machine) if system == "macos" else processor.machine
    )
    return _SYSTEMS[system].format(machine)


def capabilities(processor: Processor) -> Capabilities:
    """What legalisation may leave to the processor."""
    if processor.machine == "aarch64":
        return Capabilities(
            f16_converts=True,
            atoms=dict.fromkeys(processor.atoms, (4,)),
            permutations=frozenset({(8, 16)}),
        )
    features = processor.features
    sums = tuple(n for n in (16, 8, 4) if 32 * n <= processor.vector_bits)
    atoms = {
        name: tuple(2 * n for n in sums) if name == "vpmaddubsw" else sums
        for name in processor.atoms
        if name in ATOMS
    }
    found = {(8, 16)}
    if "avx512f" in features:
        found |= {(32, 16), (64, 8)}
    if "avx512bw" in features:
        found |= {(16, 32)}
    if "avx512vbmi" in features:
        found |= {(8, 64)}
    if "avx2" in features:
        found |= {(32, 8)}
    return Capabilities(
        f16_converts="f16c" in features,
        masked_bits=8 if "avx512bw" in features else 32,
        scales="avx512f" in features,
        multishifts="avx512vbmi" in features,
        vector_bits=processor.vector_bits,
        atoms=atoms,
        permutations=frozenset(found),
    )
