"""Puts tests/strategies on the path: `import random_ir` in a test of the compiler."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "strategies"))
