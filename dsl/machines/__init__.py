"""The machines: how each builds an artifact and runs it."""
