"""The passes of each family of targets, in the order in which they run."""
