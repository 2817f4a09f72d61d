"""The tuner: the fastest choices of a kernel for given sizes, found once and remembered.

    lib.gemm.tune(M=16, K=8192, N=8192)     or with a call's arguments: lib.gemm.tune(a, b, c)

`space` lists the configurations: every product of tune choices and launch options. `pruning` has them
scheduled and predicted in `workers` (processes of their own) and keeps the best, `search` has these
compiled, checked against the default configuration and measured by a bench (`bench` says what one is,
`gpu` is that of NVIDIA GPUs), in rounds that drop the slow ones. `records` are results, `store` keeps
them on disk, and `choices` finds the one for a call. `tuning` ties it together.

This file imports nothing: a call of a kernel that was never tuned costs a look at a folder.
"""
