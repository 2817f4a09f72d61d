"""Commands for those who write kernels: their texts, their editors."""
