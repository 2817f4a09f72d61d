"""Emitted AArch64 functions run by a guest of their own under QEMU's user mode.

Each array lies between two bands of canaries; the guest writes everything back to its standard output.
"""

import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

import numpy as np

AS, LD, QEMU = "aarch64-linux-gnu-as", "aarch64-linux-gnu-ld", "qemu-aarch64"
CANARY = 64


def missing() -> str | None:
    """What a host lacks to run the guest, if anything."""
    return next((tool for tool in (AS, LD, QEMU) if shutil.which(tool) is None), None)


_START = """
\t.text
\t.globl _start
_start:
\tadrp x0, words
\tadd x0, x0, :lo12:words
\tmov x1, #{begin}
\tmov x2, #{end}
\tadrp x3, scratch
\tadd x3, x3, :lo12:scratch
\tbl {symbol}
\tmov x19, x0
\tmov x0, #1
\tadrp x1, data
\tadd x1, x1, :lo12:data
\tadrp x2, data_end
\tadd x2, x2, :lo12:data_end
\tsub x2, x2, x1
\tmov x8, #64
write:
\tmov x8, #64
\tsvc #0
\tsub x2, x2, x0
\tadd x1, x1, x0
\tmov x0, #1
\tcbnz x2, write
\tmov x0, x19
\tmov x8, #93
\tsvc #0
\t.data
\t.p2align 6
data:
"""


def run(text, symbol, args, begin, end, scratch, *, cpu="max") -> int:
    """Call a function; arrays among `args` are tensors, written back in place; numbers are words.

    Gives what it returned. A float is passed as f32.
    """
    parts, words = [_START.format(begin=begin, end=end, symbol=symbol)], []
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for k, arg in enumerate(args):
            if isinstance(arg, np.ndarray):
                (here / f"{k}.bin").write_bytes(arg.tobytes())
                parts.append(
                    f"\t.fill {CANARY}, 1, 0xa5\na{k}:\n\t.incbin \"{here}/{k}.bin\"\n"
                    f"\t.fill {CANARY}, 1, 0xa5\n\t.p2align 4\n"
                )
                words.append(f"\t.quad a{k}")
            elif isinstance(arg, float):
                words.append(f"\t.quad {struct.unpack('<I', struct.pack('<f', arg))[0]}")
            else:
                words.append(f"\t.quad {int(arg)}")
        parts.append("data_end:\n\t.p2align 3\nwords:\n" + "\n".join(words) + "\n\t.quad 0\n")
        parts.append(f"\t.p2align 6\nscratch:\n\t.fill {scratch + 64}, 1, 0xff\n")
        (here / "k.s").write_text(text + "\n" + "".join(parts))
        for command in ([AS, "-march=armv8.6-a", "k.s", "-o", "k.o"], [LD, "k.o", "-o", "k"]):
            done = subprocess.run(command, cwd=here, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[:2000]
        done = subprocess.run([QEMU, "-cpu", cpu, "./k"], cwd=here, capture_output=True)
        assert done.returncode >= 0, f"the guest died by signal {-done.returncode}"
        _read_back(args, done.stdout)
        return done.returncode


def _read_back(args, data: bytes) -> None:
    at = 0
    band = b"\xa5" * CANARY
    for arg in args:
        if isinstance(arg, np.ndarray):
            assert data[at : at + CANARY] == band, "wrote before an array"
            at += CANARY
            code = data[at : at + arg.nbytes]
            at += arg.nbytes
            assert data[at : at + CANARY] == band, "wrote behind an array"
            at = -(-(at + CANARY) // 16) * 16
            if arg.flags.writeable:
                arg.reshape(-1).view(np.uint8)[:] = np.frombuffer(code, np.uint8)
