"""What goes wrong in an emulation."""

from __future__ import annotations


class EmulationError(RuntimeError):
    """The kernel did what a GPU forbids, or its text is none that the emulator knows."""
