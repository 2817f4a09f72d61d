"""The `dslc` command."""
