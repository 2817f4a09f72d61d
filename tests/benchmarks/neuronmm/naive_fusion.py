"""XUV by NeuronMM's Algorithm 1, the naive fusion: run as text, never imported.

The intermediate block (X U)_mp is computed again for every block of columns of the result. X comes
transposed.
"""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def naive_fusion(x_t, u, v, block_m, block_r, block_n):
    o = nl.ndarray((x_t.shape[1], v.shape[1]), dtype=u.dtype, buffer=nl.shared_hbm)
    for m in range(0, x_t.shape[1], block_m):
        for n in range(0, v.shape[1], block_n):
            out = []
            for _ in range(0, block_m, 128):
                acc = nl.ndarray((128, block_n), dtype=nl.float32, buffer=nl.psum)
                out.append(acc)
            for p in range(0, u.shape[1], block_r):
                y = intermediate(x_t, u, m, p, block_m, block_r)
                for q in range(len(y)):
                    row = p + q * 128
                    v_tile = nl.ndarray((128, block_n), dtype=v.dtype, buffer=nl.sbuf)
                    nisa.dma_copy(dst=v_tile, src=v[row : row + 128, n : n + block_n])
                    for t in range(len(out)):
                        nisa.nc_matmul(
                            dst=out[t],
                            stationary=y[q][0:128, t * 128 : t * 128 + 128],
                            moving=v_tile,
                            accumulate=(row > 0),
                        )
            for t in range(len(out)):
                stored = nl.ndarray((128, block_n), dtype=o.dtype, buffer=nl.sbuf)
                nisa.activation(dst=stored, op=nl.copy, data=out[t])
                row = m + t * 128
                nisa.dma_copy(dst=o[row : row + 128, n : n + block_n], src=stored)
    return o


def intermediate(x_t, u, m, p, block_m, block_r):
    sums = []
    for _ in range(0, block_r, 128):
        acc = nl.ndarray((128, block_m), dtype=nl.float32, buffer=nl.psum)
        sums.append(acc)
    for k in range(0, u.shape[0], 128):
        x_tile = nl.ndarray((128, block_m), dtype=x_t.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x_tile, src=x_t[k : k + 128, m : m + block_m])
        u_tile = nl.ndarray((128, block_r), dtype=u.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=u_tile, src=u[k : k + 128, p : p + block_r])
        for q in range(len(sums)):
            nisa.nc_matmul(
                dst=sums[q],
                stationary=u_tile[0:128, q * 128 : q * 128 + 128],
                moving=x_tile,
                accumulate=(k > 0),
            )
    y = []
    for q in range(len(sums)):
        y_tile = nl.ndarray((128, block_m), dtype=u.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=y_tile, src=sums[q], engine=nisa.engine.vector)
        y.append(y_tile)
    return y
