"""NeuronMM's XUV kernel as its paper describes it (section 4.2.1), in NKI: run as text, never imported.

One strip of X at a time. X is read once, k outermost: its blocks are transposed on the tensor engine
(256 M K transpose flops, as Table 3 counts them) and meet all of U's block, whose products add up in
PSUM over the block and in SBUF over the blocks. The strip of (X U)^T stays in SBUF as bf16, with no
transpose of its own, and meets V. The result is O^T, as in Table 3.
"""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def trainium_fusion(x, u, v, block_m, block_k, block_n):
    o = nl.ndarray((v.shape[1], x.shape[0]), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in range(0, x.shape[0], block_m):
        y = first_product(x, u, m, block_m, block_k)
        second_product(y, v, o, m, block_m, block_n)
    return o


def first_product(x, u, m, block_m, block_k):
    depth, r = u.shape
    y = []
    for _ in range(0, r, 128):
        y_tile = nl.ndarray((128, block_m), dtype=x.dtype, buffer=nl.sbuf)
        y.append(y_tile)
    for k in range(0, depth, block_k):
        steps = min(block_k, depth - k) // 128
        x_t = load_transposed(x, m, k, block_m, steps)
        u_tiles = []
        for s in range(steps):
            u_tile = nl.ndarray((128, r), dtype=u.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=u_tile, src=u[k + s * 128 : k + s * 128 + 128, 0:r])
            u_tiles.append(u_tile)
        for p in range(r // 128):
            for c in range(0, block_m, 512):
                w = min(512, block_m - c)
                acc = nl.ndarray((128, w), dtype=nl.float32, buffer=nl.psum)
                for s in range(steps):
                    nisa.nc_matmul(
                        dst=acc,
                        stationary=u_tiles[s][0:128, p * 128 : p * 128 + 128],
                        moving=x_t[s][0:128, c : c + w],
                        accumulate=(s > 0),
                    )
                part = y[p][0:128, c : c + w]
                if k == 0:
                    nisa.tensor_copy(dst=part, src=acc, engine=nisa.engine.vector)
                else:
                    nisa.tensor_tensor(dst=part, data1=part, data2=acc, op=nl.add)
    return y


def load_transposed(x, m, k, block_m, steps):
    x_t = []
    for _ in range(steps):
        x_tile = nl.ndarray((128, block_m), dtype=x.dtype, buffer=nl.sbuf)
        x_t.append(x_tile)
    for row in range(0, block_m, 128):
        rows = nl.ndarray((128, steps * 128), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows, src=x[m + row : m + row + 128, k : k + steps * 128])
        for s in range(steps):
            flipped = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.psum)
            nisa.nc_transpose(
                dst=flipped, data=rows[0:128, s * 128 : s * 128 + 128], engine=nisa.engine.tensor
            )
            nisa.activation(dst=x_t[s][0:128, row : row + 128], op=nl.copy, data=flipped)
    return x_t


def second_product(y, v, o, m, block_m, block_n):
    for n in range(0, v.shape[1], block_n):
        width = min(block_n, v.shape[1] - n)
        v_tiles = []
        for p in range(len(y)):
            v_tile = nl.ndarray((128, width), dtype=v.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=v_tile, src=v[p * 128 : p * 128 + 128, n : n + width])
            v_tiles.append(v_tile)
        for t in range(0, width, 128):
            out = nl.ndarray((128, block_m), dtype=o.dtype, buffer=nl.sbuf)
            for c in range(0, block_m, 512):
                w = min(512, block_m - c)
                acc = nl.ndarray((128, w), dtype=nl.float32, buffer=nl.psum)
                for p in range(len(y)):
                    nisa.nc_matmul(
                        dst=acc,
                        stationary=v_tiles[p][0:128, t : t + 128],
                        moving=y[p][0:128, c : c + w],
                        accumulate=(p > 0),
                    )
                nisa.activation(dst=out[0:128, c : c + w], op=nl.copy, data=acc)
            nisa.dma_copy(dst=o[n + t : n + t + 128, m : m + block_m], src=out)
