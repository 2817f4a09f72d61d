# ruff: noqa
from pathlib import Path

from dslc.frontend import read_source

read_source(Path(__file__).parent)
