"""Which library measures what: a function for each section, imported only in that library's process."""

from __future__ import annotations

# section -> library -> module:function; ours first.
LIBRARIES: dict[str, dict[str, str]] = {
    "quantized": {
        "dslc": "gpu.ours.products:quantized",
        "humming": "gpu.rivals.humming:quantized",
        "cublas f16": "gpu.rivals.cublas:quantized",
    },
    "dense": {"dslc": "gpu.ours.products:dense", "cublas": "gpu.rivals.cublas:dense"},
    "rows": {"dslc": "gpu.ours.rows:rows", "torch.compile": "gpu.rivals.inductor:rows"},
    "attention": {
        "dslc": "gpu.ours.rows:attention",
        "cudnn": "gpu.rivals.sdpa:cudnn",
        "flash": "gpu.rivals.sdpa:flash",
    },
    "launch": {"dslc and triton": "gpu.rivals.triton_launch:launch"},
    "grid": {"dslc": "gpu.ours.grid:grid", "humming": "gpu.rivals.humming:grid"},
    "compiling": {"dslc": "gpu.ours.compiling:compiling"},
}
