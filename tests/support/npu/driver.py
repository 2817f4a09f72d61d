"""Stand-ins for aiecc and for XRT's Python module: what they are asked is checked, and modules run.

Host and device see memories of their own: what is not synced has not arrived. Files made by the one
hold the module, which the other runs in the simulator.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from dslc.runtime.aie_simulator import simulate
from dslc.runtime.aie_simulator.module import load
from dslc.runtime.aie_simulator.parts import element_type
from dslc.runtime.aie_simulator.sequence import arguments_of

_AIECC = """\
#!{python}
import sys
from pathlib import Path

words = sys.argv[1:]
if words == ["--version"]:
    print("aiecc of the tests")
    sys.exit()
with open({log!r}, "a") as log:
    print(*words, file=log)
text = Path(words[-1]).read_text()
options = dict((w.split("=") + [""])[:2] for w in words[:-1])
for option in ("--no-xchesscc", "--no-xbridge"):
    del options[option]
if {refuses!r} in text:
    sys.exit("error: " + {refuses!r})
if "--get-full-elf" in options:
    del options["--get-full-elf"]
    assert "aiex.configure" in text
    Path(options.pop("--full-elf-name")).write_text(text)
else:
    del options["--get-xclbin"], options["--get-npu-insts"]
    Path(options.pop("--xclbin-name")).write_text(text)
    Path(options.pop("--npu-insts-name")).write_bytes(b"insts of " + text.encode()[:64])
assert not options, options
"""
_UNWRITTEN = 0xA5


def make_aiecc(folder: Path, refuses: str = "no such text") -> Path:
    """A program of that name in the folder; gives the file that lists how it was called."""
    folder.mkdir(exist_ok=True)
    log, program = folder / "log", folder / "aiecc"
    log.touch()
    program.write_text(_AIECC.format(python=sys.executable, log=str(log), refuses=refuses))
    program.chmod(0o700)
    return log


DIRECTIONS = [f"XCL_BO_SYNC_BO_{d}_DEVICE" for d in ("TO", "FROM")]
COMPLETED = "ERT_CMD_STATE_COMPLETED"


class Xrt(SimpleNamespace):
    """The module `pyxrt`. `ends` is how runs end, `takes` how many arrays kernels of xclbins do."""

    def __init__(self, name: str = "NPU Strix", takes: int = 5) -> None:
        super().__init__(name=name, takes=takes, ends=COMPLETED, opened=0, runs=0, contexts=0)
        self.xrt_info_device = SimpleNamespace(name="name")
        self.ert_cmd_state = SimpleNamespace(ERT_CMD_STATE_COMPLETED=COMPLETED)
        self.xclBOSyncDirection = SimpleNamespace(**{d: d for d in DIRECTIONS})
        self.device, self.xclbin, self.elf = self._own(_Device), self._own(_Xclbin), _Elf
        self.hw_context, self.bo = self._own(_Context), _Buffer
        self.kernel, self.run = self._own(_Kernel), self._own(_Run)
        self.ext = SimpleNamespace(kernel=_ElfKernel)

    def _own(self, kind: type) -> Any:
        return type(kind.__name__, (kind,), {"xrt": self})


class _Device:
    xrt: Xrt

    def __init__(self, number: int) -> None:
        assert number == 0
        self.xrt.opened += 1
        self.registered: list[Any] = []

    def get_info(self, key: str) -> str:
        assert key == "name"
        return str(self.xrt.name)

    def register_xclbin(self, xclbin: _Xclbin) -> None:
        self.registered.append(xclbin.get_uuid())


class _Xclbin:
    xrt: Xrt

    def __init__(self, path: str) -> None:
        self.text = Path(path).read_text()

    def get_uuid(self) -> tuple[str, str]:
        return ("uuid", self.text)

    def get_kernels(self) -> list[Any]:
        count = 3 + self.xrt.takes
        return [SimpleNamespace(get_name=lambda: "MLIR_AIE", get_num_args=lambda: count)]


class _Elf:
    def __init__(self, path: str) -> None:
        self.text = Path(path).read_text()


class _Context:
    xrt: Xrt

    def __init__(self, device: _Device, of: Any) -> None:
        self.xrt.contexts += 1
        self.is_whole = isinstance(of, _Elf)
        assert self.is_whole or of in device.registered
        self.text = of.text if self.is_whole else of[1]


class _Buffer:
    cacheable, host_only = "cacheable", "host_only"

    def __init__(self, device: _Device, size: int, flags: str, group: int) -> None:
        assert isinstance(device, _Device)
        assert size > 0
        self.flags, self.group = flags, group
        self.host = np.full(size, _UNWRITTEN, np.uint8)
        self.device = self.host.copy()

    def size(self) -> int:
        return self.host.size

    def write(self, content: Any, seek: int) -> None:
        content = memoryview(content).cast("B")
        assert seek + len(content) <= self.host.size
        self.host[seek : seek + len(content)] = content

    def read(self, size: int, skip: int) -> Any:
        assert skip + size <= self.host.size
        return self.host[skip : skip + size].astype(np.int8)

    def sync(self, direction: str, size: int, offset: int) -> None:
        assert offset + size <= self.host.size
        to, of = (self.device, self.host)[:: 1 - 2 * DIRECTIONS.index(direction)]
        to[offset : offset + size] = of[offset : offset + size]


class _Kernel:
    xrt: Xrt

    def __init__(self, context: _Context, name: str) -> None:
        assert not context.is_whole
        assert name == "MLIR_AIE"
        self.text = context.text

    def group_id(self, argument: int) -> int:
        return 0x1000 + argument

    def __call__(self, opcode: int, words: _Buffer, size: int, *buffers: _Buffer) -> _Run:
        assert opcode == 3
        assert (words.flags, words.group) == ("cacheable", self.group_id(1))
        assert words.device.tobytes() == b"insts of " + self.text.encode()[:64]
        assert size == words.size()
        assert len(buffers) <= self.xrt.takes
        for place, buffer in enumerate(buffers):
            assert buffer.group == self.group_id(3 + place)
        run: _Run = self.xrt.run(self)
        run.buffers = dict(enumerate(buffers))
        run.start()
        return run


class _ElfKernel:
    def __init__(self, context: _Context, name: str) -> None:
        assert context.is_whole
        self.text = context.text
        module = load(self.text)
        assert name == f"{module.main}:{module.sequence}"


class _Run:
    xrt: Xrt

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.state = kernel, ""
        self.buffers: dict[int, _Buffer] = {}

    def set_arg(self, place: int, buffer: _Buffer) -> None:
        assert isinstance(self.kernel, _ElfKernel)
        self.buffers[place] = buffer

    def start(self) -> None:
        self.xrt.runs += 1
        if self.xrt.ends == "raises":
            raise RuntimeError("DRM_IOCTL_AMDXDNA_EXEC_CMD IOCTL failed")
        self.state = self.xrt.ends
        assert {b.flags for b in self.buffers.values()} == {"host_only"}
        if self.state == COMPLETED:
            _execute(self.kernel.text, [self.buffers[i].device for i in range(len(self.buffers))])

    def wait(self) -> str:
        return self.state


def _execute(text: str, given: list[Any]) -> None:
    arguments = arguments_of(load(text).dispatch)
    arrays = [
        memory.view(element_type(argument.kind, 0))
        for memory, argument in zip(given, arguments, strict=True)
    ]
    assert [a.size for a in arrays] == [a.count for a in arguments]
    simulate(text, arrays)
