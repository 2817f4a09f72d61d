"""AArch64: scheduled Tile IR as assembly text, one function a kernel and feature set."""
