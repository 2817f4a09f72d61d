"""The references import one another, and so do the examples, as when one is run as a script."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "examples")]
