"""XUV as two products with the intermediate in HBM (NeuronMM, section 3.1): run, never imported.

Each product transposes its left operand on the tensor engine, so that the intermediate is transposed as
well: the I/O and the intermediate transposes of section 3.3.
"""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def sequential(x, u, v, block_m, block_n):
    y = nl.ndarray((x.shape[0], u.shape[1]), dtype=x.dtype, buffer=nl.hbm)
    o = nl.ndarray((x.shape[0], v.shape[1]), dtype=x.dtype, buffer=nl.shared_hbm)
    product(x, u, y, block_m, block_n)
    product(y, v, o, block_m, block_n)
    return o


def product(a, b, c, block_m, block_n):
    for m in range(0, a.shape[0], block_m):
        a_t = load_transposed(a, m, block_m)
        for n in range(0, b.shape[1], block_n):
            b_tiles = []
            for k in range(0, a.shape[1], 128):
                b_tile = nl.ndarray((128, block_n), dtype=b.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=b_tile, src=b[k : k + 128, n : n + block_n])
                b_tiles.append(b_tile)
            for row in range(0, block_m, 128):
                out = nl.ndarray((128, block_n), dtype=c.dtype, buffer=nl.sbuf)
                for c0 in range(0, block_n, 512):
                    w = min(512, block_n - c0)
                    acc = nl.ndarray((128, w), dtype=nl.float32, buffer=nl.psum)
                    for k in range(len(b_tiles)):
                        nisa.nc_matmul(
                            dst=acc,
                            stationary=a_t[k][0:128, row : row + 128],
                            moving=b_tiles[k][0:128, c0 : c0 + w],
                            accumulate=(k > 0),
                        )
                    nisa.activation(dst=out[0:128, c0 : c0 + w], op=nl.copy, data=acc)
                nisa.dma_copy(dst=c[m + row : m + row + 128, n : n + block_n], src=out)


def load_transposed(a, m, block_m):
    a_t = []
    for _ in range(0, a.shape[1], 128):
        tile = nl.ndarray((128, block_m), dtype=a.dtype, buffer=nl.sbuf)
        a_t.append(tile)
    for row in range(0, block_m, 128):
        rows = nl.ndarray((128, a.shape[1]), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows, src=a[m + row : m + row + 128, 0 : a.shape[1]])
        for k in range(len(a_t)):
            flipped = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.psum)
            part = rows[0:128, k * 128 : k * 128 + 128]
            nisa.nc_transpose(dst=flipped, data=part, engine=nisa.engine.tensor)
            nisa.tensor_copy(
                dst=a_t[k][0:128, row : row + 128], src=flipped, engine=nisa.engine.vector
            )
    return a_t
