"""The two front-ends: `.tile` text and decorated Python, both giving one syntax tree."""

from dslc.frontend.source import read_source
from dslc.frontend.tile_parser import parse_tile

__all__ = ["parse_tile", "read_source"]
