"""Makes the tables and pictures of the pages about performance from the figures that are kept.

    python tests/benchmarks/documents/run.py                      tables and pictures
    python tests/benchmarks/documents/run.py --keep decode bench-gpu.json [MORE.json]

The second takes over what `tests/benchmarks/gpu/run.py` measured as docs/performance/data/decode.json.
Pictures need matplotlib: `pip install 'dslc[pictures]'`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from documents.data import DOCS, keep  # noqa: E402
from documents.pictures import PICTURES  # noqa: E402
from documents.tables import filled  # noqa: E402

RUNS = ("decode", "prefill", "defaults", "dense")
PAGES = (DOCS / "performance.md", *sorted((DOCS / "performance").glob("*.md")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", choices=RUNS, help="take raw figures over under this name")
    parser.add_argument("sources", type=Path, nargs="*", help="what gpu/run.py wrote")
    options = parser.parse_args()
    if bool(options.keep) != bool(options.sources):
        parser.error("--keep and files of raw figures belong together")
    if absent := [str(path) for path in options.sources if not path.is_file()]:
        parser.error(f"there is no {', '.join(absent)}")
    if options.keep:
        keep(options.keep, options.sources)
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
    try:
        from documents.drawing import draw
    except ModuleNotFoundError as missing:
        sys.exit(f"the tables are made; pictures need {missing.name}: pip install 'dslc[pictures]'")
    for name, shown in PICTURES.items():
        draw(name, shown(), DOCS / "pictures" / f"performance_{name}.svg")


if __name__ == "__main__":
    main()
