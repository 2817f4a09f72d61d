"""`.tile` sources in one form: their tokens and comments with other white space between them."""

from dslc.formatting.formatter import format_tile

__all__ = ["format_tile"]
