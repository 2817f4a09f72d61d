"""What a run was made on: date, GPU, driver, clocks, versions."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
from typing import Any

FIELDS = ("name", "driver_version", "clocks.sm", "clocks.max.sm", "clocks.mem", "power.limit")


def query() -> dict[str, str]:
    """What nvidia-smi says of the first GPU; nothing where it is not installed."""
    command = ["nvidia-smi", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader", "--id=0"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(zip(FIELDS, answer.stdout.strip().split(", "), strict=False))


def facts() -> dict[str, Any]:
    found: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        **query(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }
    for package in ("torch", "triton", "nvidia-cuda-nvrtc", "nvidia-cudnn-cu13"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
