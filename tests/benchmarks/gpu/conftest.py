"""The benchmark is run as a script, whose modules import one another as `gpu.…`.

The folder that has it is not on the path: its flydsl.py and neuronmm.py would hide FlyDSL and
an example from all tests of the session.
"""

import sys
from pathlib import Path
from types import ModuleType

package = ModuleType("gpu")
package.__path__ = [str(Path(__file__).parent)]
sys.modules["gpu"] = package
