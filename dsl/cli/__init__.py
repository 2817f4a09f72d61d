"""The `dslc` command: one file a command, each loaded only when it is named."""
