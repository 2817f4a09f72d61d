"""Temporary folders: gone at the end, and swept where a process was killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from dslc.compiler.scratch import scratch_folder, sweep


def dead_process() -> int:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def make(root: Path, name: str, age: float = 7200.0) -> Path:
    path = root / name
    path.mkdir()
    (path / "kernel.cu").write_text("text")
    when = path.stat().st_mtime - age
    os.utime(path, (when, when))
    return path


def test_a_folder_is_gone_at_the_end() -> None:
    with scratch_folder("hip") as folder:
        path = Path(folder)
        assert path.stat().st_mode & 0o777 == 0o700
        assert path.name.startswith(f"dslc-hip-{os.getpid()}-")
    assert not path.exists()


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    left = make(tmp_path, f"dslc-hip-{dead_process()}-k3v0x2ab")
    kept = [
        make(tmp_path, f"dslc-hip-{os.getpid()}-k3v0x2ab"),  # its process lives
        make(tmp_path, f"dslc-hip-{dead_process()}-k3v0x2ac", age=60.0),  # young
        make(tmp_path, "dslc-hip-mine"),  # of another make
        make(tmp_path, f"dslc-{dead_process()}"),
    ]
    assert sweep(tmp_path) == [left]
    assert not left.exists()
    assert all(path.exists() for path in kept)


def test_links_are_not_followed(tmp_path: Path) -> None:
    target = make(tmp_path, "precious")
    link = tmp_path / f"dslc-hip-{dead_process()}-k3v0x2ab"
    link.symlink_to(target)
    assert sweep(tmp_path) == []
    assert target.exists()


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    assert sweep(tmp_path / "nowhere") == []
    if os.geteuid() == 0:
        theirs = make(tmp_path, f"dslc-hip-{dead_process()}-k3v0x2ab")
        os.chown(theirs, 12345, -1)
        assert sweep(tmp_path) == []


def test_compilers_leave_nothing_behind(tmp_path: Path) -> None:
    """A build that is killed leaves a folder, which the next process deletes once it is old."""
    code = (
        "import os, sys\nfrom dslc.compiler.scratch import scratch_folder\n"
        "with scratch_folder('c') as f:\n    print(f, flush=True)\n    os._exit(9)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    left = Path(done.stdout.strip())
    assert done.returncode == 9
    assert left.exists()
    os.utime(left, (0, 0))
    assert sweep(tmp_path) == [left]
