"""Compile every launcher of a FlyDSL source: run as a script, with the settings of toolchain.py.

FlyDSL imports torch to know its tensors; where it is not installed, names are enough.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import types
from pathlib import Path
from typing import Any

_DTYPES = (
    "float16", "bfloat16", "float32", "float64", "bool", "uint8", "int8", "int16", "int32", "int64",
)  # fmt: skip


def _stand_in() -> None:
    """A torch without tensors and devices."""
    torch: Any = types.ModuleType("torch")
    torch.Tensor = type("Tensor", (), {})
    torch.cuda = types.SimpleNamespace(Stream=type("Stream", (), {}), is_available=lambda: False)
    for name in _DTYPES:
        setattr(torch, name, f"torch.{name}")
    sys.modules["torch"] = torch


def main(path: str) -> None:
    """Each kernel's text goes to the folder that FLYDSL_DUMP_DIR names."""
    if importlib.util.find_spec("torch") is None:
        _stand_in()
    import flydsl.compiler as flyc
    import flydsl.expr as fx
    import numpy as np

    sys.path.insert(0, str(Path(path).parent))
    module = importlib.import_module(Path(path).stem)
    for name, launch in list(vars(module).items()):
        if not name.startswith("launch_"):
            continue
        given: list[object] = []
        for parameter in inspect.signature(launch.func, eval_str=True).parameters.values():
            kind = parameter.annotation
            if kind is fx.Tensor:
                given.append(flyc.from_dlpack(np.zeros(64, np.int32)))
            else:
                given.append(fx.Stream(None) if kind is fx.Stream else kind(1))
        flyc.compile(launch, *given)


if __name__ == "__main__":
    main(sys.argv[1])
