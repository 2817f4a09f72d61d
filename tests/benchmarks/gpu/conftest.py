"""The benchmark is run as a script, whose modules import one another as `gpu.…`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
