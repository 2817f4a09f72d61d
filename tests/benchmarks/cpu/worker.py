"""One side of a comparison: answers a request a line, `{"case": {...}, "tune": seconds}`."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parent)

from cases import Case  # noqa: E402


def answer(side: str, threads: int, request: dict[str, Any]) -> dict[str, Any]:
    if request.get("bandwidth"):
        return {"bandwidth": importlib.import_module("rivals").bandwidth(threads)}
    case = Case(**{**request["case"], "sizes": tuple(request["case"]["sizes"])})
    if side == "rivals":
        found: dict[str, Any] = importlib.import_module("rivals").measure(case, threads)
        return found
    ours = importlib.import_module("ours")
    if budget := request.get("tune"):
        return {"tuned": ours.tune(case, budget)}
    return {"seconds": ours.measure(case)}


def main() -> None:
    side, threads = sys.argv[1], int(sys.argv[2])
    for text in sys.stdin:
        try:
            found = answer(side, threads, json.loads(text))
        except Exception as failure:  # a case that fails stops no other
            found = {"error": f"{type(failure).__name__}: {failure}"}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
