"""The text form of Tile IR: printer and parser."""
