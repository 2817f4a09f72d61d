"""The commands of `dslc`, one file each."""
