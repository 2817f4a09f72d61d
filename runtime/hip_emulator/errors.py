"""What goes wrong in an emulation."""

from __future__ import annotations


class EmulationError(RuntimeError):
    """The kernel did what the machine forbids, or its text is none that the emulator knows."""
