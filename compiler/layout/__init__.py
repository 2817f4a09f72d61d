"""The layout algebra."""

from typing import Any

Layout = Any
