"""Benchmarks of several files are run as scripts, whose modules import one another as `gpu.…`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
