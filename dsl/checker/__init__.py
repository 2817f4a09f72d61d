"""The checker: from the syntax tree to Tile IR."""
