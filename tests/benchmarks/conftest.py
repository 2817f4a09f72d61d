"""Some benchmarks are folders, run as scripts whose modules import one another as `gpu.…`.

The folder that has them is not on the path: its flydsl.py and neuronmm.py would hide FlyDSL and
an example from all tests of the session.
"""

import sys
from pathlib import Path
from types import ModuleType

for name in ("documents", "gpu"):
    package = ModuleType(name)
    package.__path__ = [str(Path(__file__).parent / name)]
    sys.modules[name] = package
