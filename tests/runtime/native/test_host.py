"""Libraries loaded into this process, and their kernels on its threads: in C, and in Python."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from dslc.codegen.cpu.tools.elf_library import link_elf
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.native import HostProcessor, host
from dslc.runtime.native.host import HostLibrary
from dslc.runtime.native.loading import load_library, machine_of, system_library
from dslc.runtime.native.pool import Pool

from support.llvm import object_of

KIND = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
)
here = pytest.mark.skipif(
    platform.machine() != "x86_64" or os.name != "posix", reason="needs an x86-64 Linux"
)


class Library(dict[str, Any]):
    """Functions of this process in place of a library's."""


@pytest.fixture(params=["C", "Python"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "Python":
        monkeypatch.setattr(host, "extension", lambda: None)
    elif host.extension() is None:
        pytest.skip("the extension was not built")
    return str(request.param)


def loaded(body: Any, threads: int = 3) -> HostLibrary:
    library: Any = Library(f=KIND(body))
    return HostLibrary(library, Pool(threads))


def test_every_turn_is_run_once_with_scratch_of_its_thread(way: str) -> None:
    seen = []

    def body(args: int, begin: int, end: int, scratch: int) -> int:
        words = ctypes.cast(args, ctypes.POINTER(ctypes.c_uint64 * 2))[0]
        values = ctypes.cast(words[0], ctypes.POINTER(ctypes.c_float))
        for i in range(begin, end):
            values[i] += words[1]
        ctypes.memset(scratch, begin & 0xFF, 100)
        seen.append((threading.get_ident(), scratch))
        return 0

    code = loaded(body)
    for turns in (1, 2, 7, 100):
        x = np.arange(turns, dtype=np.float32)
        assert code.call("f", [x, -1 & 0xFF], [0], turns, 3, scratch=100) == 0
        np.testing.assert_array_equal(x, np.arange(turns) + 255)
    assert all(scratch % 64 == 0 for _, scratch in seen)
    assert len({s for _, s in seen}) == len(set(seen)) == len({t for t, _ in seen})


def test_one_thread_has_all_turns_at_once(way: str) -> None:
    seen = []

    def body(args: int, begin: int, end: int, scratch: int) -> int:
        seen.append((begin, end, threading.get_ident()))
        return 0

    loaded(body).call("f", [], [], 1000, 1)
    assert seen == [(0, 1000, threading.get_ident())]


def test_a_slow_thread_has_fewer_turns(way: str) -> None:
    """Turns of the caller's thread sleep; the others take what it leaves."""
    own = threading.get_ident()
    counts: dict[int, int] = {}

    def body(args: int, begin: int, end: int, scratch: int) -> int:
        found = threading.get_ident()
        counts[found] = counts.get(found, 0) + end - begin
        time.sleep((0.02 if found == own else 0.001) * (end - begin))
        return 0

    loaded(body, 2).call("f", [], [], 64, 2)
    assert sum(counts.values()) == 64
    assert 0 < counts[own] < 32


@pytest.mark.parametrize("bad", [0, 5, 63])
def test_the_first_turn_that_fails_says_what(way: str, bad: int) -> None:
    def body(args: int, begin: int, end: int, scratch: int) -> int:
        return next((t + 1 for t in range(begin, end) if t >= bad), 0)

    for _ in range(5):
        assert loaded(body).call("f", [], [], 64, 3) == bad + 1


def test_of_turns_that_fail_at_once_the_first_counts(way: str) -> None:
    """However late it fails."""
    another = threading.Event()

    def body(args: int, begin: int, end: int, scratch: int) -> int:
        if begin == 0:
            assert another.wait(20)
        else:
            another.set()
        return begin + 1

    assert loaded(body, 2).call("f", [], [], 8, 2) == 1


def test_callers_on_several_threads_do_not_wait_for_each_other(way: str) -> None:
    meeting = threading.Barrier(4, timeout=20)

    def body(args: int, begin: int, end: int, scratch: int) -> int:
        if begin == 0:
            meeting.wait()
        return 0

    code = loaded(body, 2)
    callers = [threading.Thread(target=code.call, args=("f", [], [], 8, 2)) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(20)
        assert not caller.is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_fork_has_threads_of_its_own(way: str) -> None:
    meeting = threading.Barrier(3, timeout=10)

    def body(args: int, begin: int, end: int, scratch: int) -> int:
        meeting.wait()
        return 0

    code = loaded(body)
    code.call("f", [], [], 3, 3)
    child = os.fork()
    if not child:
        signal.alarm(10)  # threads of the parent are not here: whoever waits for one waits for ever
        os._exit(code.call("f", [], [], 3, 3))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


RETURNS = "define i32 @f(ptr %args, i64 %begin, i64 %end, ptr %scratch) {\n  ret i32 NUMBER\n}\n"


def returning(number: int, machine: str = "x86_64") -> bytes:
    return link_elf([object_of(RETURNS.replace("NUMBER", str(number)), machine)])


@here
def test_each_library_is_its_own_however_many_are_loaded() -> None:
    """Descriptors come again, and the loader knows libraries by their paths."""
    contents = [returning(n) for n in range(1, 40)]
    for number, content in enumerate(contents, 1):
        assert HostProcessor.get().load(content).call("f", [], [], 1, 1) == number
    assert len(list(os.scandir("/proc/self/fd"))) < 300


@here
def test_without_files_in_memory_a_library_is_loaded_from_a_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(name: str) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "memfd_create", refused)
    assert HostProcessor.get().load(returning(77)).call("f", [], [], 1, 1) == 77


def test_other_systems_are_told_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    with pytest.raises(DiagnosticError, match=r"DSL0862.*win32"):
        system_library()
    with pytest.raises(DiagnosticError, match="DSL0862"):
        load_library(b"MZ")
    monkeypatch.setattr("sys.platform", "darwin")
    assert system_library() == "kernel.dylib"


def test_a_library_says_for_which_machine_it_is() -> None:
    assert machine_of(returning(1)) == "x86_64"
    assert machine_of(returning(1, "aarch64")) == "aarch64"
    assert machine_of(bytes.fromhex("cffaedfe0c000001")) == "aarch64"
    assert machine_of(b"") is None


@pytest.fixture(autouse=True)
def _no_threads_are_left_at_work() -> Iterator[None]:
    yield
    assert all(t.daemon for t in threading.enumerate() if t is not threading.main_thread())
