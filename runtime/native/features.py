"""What instructions the CPU of this machine has, as the operating system tells it.

The names are those of targets and artifacts: LLVM's on x86-64, on Arm those of `arm_features`.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import platform
import sys
from collections.abc import Iterable
from pathlib import Path

from dslc.runtime.native.arm_features import AT_HWCAP, AT_HWCAP2, features_of, macos_features

_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
# Where a system has another name than LLVM: the flags of Linux (arch/x86/include/asm/cpufeatures.h),
# and what macOS says in machdep.cpu (the names of Intel's manuals). The others differ by underscores.
_LINUX = {"pni": "sse3", "abm": "lzcnt", "lahf_lm": "sahf", "bmi1": "bmi"}
_LINUX |= {"sse4_1": "sse4.1", "sse4_2": "sse4.2"}
_MACOS = {"avx1.0": "avx", "bmi1": "bmi", "lahf": "sahf", "vpopcntdq": "avx512vpopcntdq"}
_ARCH_PRCTL, _REQ_XCOMP_PERM, _XTILEDATA = 158, 0x1023, 18
_SYSCTL = ("machdep.cpu.features", "machdep.cpu.leaf7_features", "machdep.cpu.extfeatures")


def host_machine() -> str:
    """`x86_64`, `aarch64`, or what the system calls another one."""
    name = platform.machine().lower()
    return _MACHINES.get(name, name)


def host_features() -> frozenset[str]:
    """Those of the CPU that this process runs on; none on other machines than these two."""
    machine = host_machine()
    if machine == "x86_64" and sys.platform == "darwin":
        return x86_features_of_macos(" ".join(map(_sysctl_text, _SYSCTL)).split())
    if machine == "x86_64" and sys.platform.startswith("linux"):
        features = x86_features_of_linux(Path("/proc/cpuinfo").read_text(encoding="utf-8"))
        tiles = frozenset(name for name in features if name.startswith("amx"))
        return features - tiles if tiles and not _tiles_permitted() else features
    if machine != "aarch64":
        return frozenset()
    libc = _libc()
    if sys.platform == "darwin":
        return macos_features(sysctl_number)
    libc.getauxval.restype = ctypes.c_ulong
    libc.getauxval.argtypes = (ctypes.c_ulong,)
    return features_of(libc.getauxval(AT_HWCAP), libc.getauxval(AT_HWCAP2))


def host_maker() -> str:
    """Who made this CPU, as CPUs tell it (`AuthenticAMD`); `apple` on macOS, else empty."""
    if sys.platform == "darwin":
        return "apple"
    if host_machine() != "x86_64" or not sys.platform.startswith("linux"):
        return ""
    return maker_of_linux(Path("/proc/cpuinfo").read_text(encoding="utf-8"))


def maker_of_linux(cpuinfo: str) -> str:
    """The maker that the kernel tells; empty where it tells none."""
    lines = (line.partition(":") for line in cpuinfo.splitlines())
    return next((text.strip() for name, _, text in lines if name.strip() == "vendor_id"), "")


def x86_features_of_linux(cpuinfo: str) -> frozenset[str]:
    """The features that the kernel found and lets programs use: the flags that all CPUs have."""
    lines = [t.partition(":")[2] for t in cpuinfo.splitlines() if t.startswith("flags")]
    flags = [set(line.split()) for line in lines]
    return _named(set.intersection(*flags) if flags else (), _LINUX)


def x86_features_of_macos(words: Iterable[str]) -> frozenset[str]:
    """The features that macOS tells of an Intel CPU."""
    return _named((w.lower() for w in words), _MACOS)


@functools.cache
def _tiles_permitted() -> bool:
    """Whether this process may use AMX's tiles, which Linux permits to those that ask.

    Threads and forks inherit it (Documentation/arch/x86/xstate.rst).
    """
    libc = _libc()
    asked = libc.syscall(_ARCH_PRCTL, _REQ_XCOMP_PERM, ctypes.c_ulong(_XTILEDATA))
    return bool(asked == 0)


def _named(words: Iterable[str], names: dict[str, str]) -> frozenset[str]:
    return frozenset(names.get(w, w.replace("_", "")) for w in words)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(ctypes.util.find_library("c") if sys.platform == "darwin" else None)


def sysctl_number(name: str) -> int:
    """What macOS tells by a name, 0 for one that it has not."""
    value, size = ctypes.c_int64(0), ctypes.c_size_t(8)
    failed = _libc().sysctlbyname(name.encode(), ctypes.byref(value), ctypes.byref(size), None, 0)
    return 0 if failed else value.value


def _sysctl_text(name: str) -> str:
    text, size = ctypes.create_string_buffer(4096), ctypes.c_size_t(4096)
    failed = _libc().sysctlbyname(name.encode(), text, ctypes.byref(size), None, 0)
    return "" if failed else text.value.decode()
