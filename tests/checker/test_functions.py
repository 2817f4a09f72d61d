"""The functions of the language: shapes and dtypes of what they give."""

import pytest
from dslc.checker.calls import FUNCTIONS
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins

from support.kernels import every, one, statements

HEAD = "x: f16[M, N], t: f32[A, B, C], i: i32[N], c: i32[4], y: out f32[M, N]"


def assigned(expression):
    """The type that `r` is bound to."""
    kernel = statements(f"r = {expression}\nkeep = buffer(f32, [1])\nprint('r', r)", HEAD)
    arg = every(kernel, ins.Print)[0].args[0]
    if isinstance(arg, ex.Var | ex.Read | ex.Const | ex.Binary | ex.Unary | ex.Select | ex.Convert):
        return str(arg.dtype), None
    return str(arg.type.dtype), arg.type.shape


@pytest.mark.parametrize(
    ("expression", "dtype", "shape"),
    [
        ("zeros(f32, [4, 8])", "f32", (4, 8)),
        ("full(i8, [4], -3)", "i8", (4,)),
        ("arange(16)", "i32", (16,)),
        ("cast(x[0:4, 0:8], i8, saturate=True)", "i8", (4, 8)),
        ("sum(x[0:4, 0:8], 1)", "f16", (4,)),
        ("sum(x[0:4, 0:8], -2, keepdims=True)", "f16", (1, 8)),
        ("sum(x[0:4, 0:8])", "f16", None),
        ("max(x[0, 0:8], 0)", "f16", None),
        ("max(x[0:4, 0:8], axis=0)", "f16", (8,)),
        ("max(M, 3)", "index", None),
        ("argmax(x[0:4, 0:8], 1)", "i32", (4,)),
        ("any(x[0:4, 0:8] > 0, 1)", "bool", (4,)),
        ("cumsum(i[0:8], 0)", "i32", (8,)),
        ("cummax(x[0:4, 0:8], -1)", "f16", (4, 8)),
        ("prod(x[0:4, 0:7], 1)", "f16", (4,)),
        ("prod(x[0:4, 0:8])", "f16", None),
        ("reduce(maximum, i[0:8], 0)", "i32", None),
        ("reduce(minimum, x[0:4, 0:8], 1, keepdims=True)", "f16", (4, 1)),
        ("scan(maximum, x[0:4, 0:8], 0, reverse=True)", "f16", (4, 8)),
        ("sort(x[0:4, 0:5], 1)", "f16", (4, 5)),
        ("argsort(x[0:4, 0:5], 0, descending=True)", "i32", (4, 5)),
        ("topk(x[0:4, 0:8], 3, 1)[0]", "f16", (4, 3)),
        ("topk(x[0:4, 0:8], 3, 1)[1]", "i32", (4, 3)),
        ("sort([i[0:8], x[0, 0:8]], 0)[1]", "f16", (8,)),
        ("transpose(t[0:2, 0:3, 0:4])", "f32", (2, 4, 3)),
        ("transpose(t[0:2, 0:3, 0:4], [2, 0, 1])", "f32", (4, 2, 3)),
        ("reshape(x[0:4, 0:8], [2, -1])", "f16", (2, 16)),
        ("broadcast(x[0, 0:8], [4, 8])", "f16", (4, 8)),
        ("repeat(x[0:4, 0:8], 3, 0)", "f16", (12, 8)),
        ("concat([x[0:4, 0:8], x[0:4, 0:2]], 1)", "f16", (4, 10)),
        ("where(x[0:4, 0:8] > 0, x[0:4, 0:8], 0)", "f16", (4, 8)),
        ("where(x[0:4, 0:1] > 0, x[0, 0:8], 1)", "f16", (4, 8)),
        ("select(M > 3, 1, N)", "index", None),
        ("minimum(x[0:4, 0:8], 1)", "f16", (4, 8)),
        ("clamp(x[0:4, 0:8], -1, 1)", "f16", (4, 8)),
        ("fma(x[0:4, 0:8], 2, x[0, 0:8])", "f16", (4, 8)),
        ("load(x[0:4, 0:8], other=1)", "f16", (4, 8)),
        ("gather(x[:, 0:8], i[0:5], 0)", "f16", (5, 8)),
        ("gather(x[0:4, :], i[0:5], 1)", "f16", (4, 5)),
        ("x[i[0:5], i[0:5]]", "f16", (5,)),
        ("x[i[0:5][:, None], i[0:4]]", "f16", (5, 4)),
        ("x[i[0:5], None, i[0:5]]", "f16", (5, 1)),
        ("x[i[0:5], 0:8]", "f16", (5, 8)),
        ("dot(x[0:4, 0:8], x[0:8, 0:2])", "f32", (4, 2)),
        ("dot(x[0:4, 0:8], x[0:2, 0:8], transposed='b')", "f32", (4, 2)),
        ("dot(t[0:2, 0:4, 0:8], t[0, 0:8, 0:3])", "f32", (2, 4, 3)),
        ("dot(cast(x[0:4, 0:8], i8), cast(x[0:8, 0:2], u4))", "i32", (4, 2)),
        ("t[0, 0:3, None, 1:5:2]", "f32", (3, 1, 2)),
        ("x[0:4, 0:8][1:3, ::2]", "f16", (2, 4)),
        ("x[0:4, 0:8][-1]", "f16", (8,)),
        ("dim(x, 0)", "index", None),
        ("cdiv(M, 16)", "index", None),
        ("sqrt(M)", "f32", None),
        ("x[M - 1, 0]", "f16", None),
    ],
)
def test_what_functions_give(expression, dtype, shape):
    assert assigned(expression) == (dtype, shape)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f8e4m3"])
def test_narrow_floats_are_widened_before_they_are_sorted(dtype):
    """Once, and not in each of the six steps, where a machine compares them by wider numbers."""
    text = "y[0:4, 0:8] = argsort(x[0:4, 0:8], 1)"
    kernel = statements(text, f"x: {dtype}[M, N], y: out i32[M, N]")
    compared = {b.x.type.dtype.name for b in every(kernel, ins.Binary) if b.op == "le"}
    assert compared == {"f32"}
    assert sum(str(c.x.type.dtype) == dtype for c in every(kernel, ins.Cast)) == 1


def test_open_slices_need_static_dims():
    with pytest.raises(DiagnosticError) as e:
        statements("r = t[..., 0:2]", HEAD)
    assert e.value.diagnostics[0].code == "DSL0230"


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("transpose(i[0:8])", "DSL0226"),
        ("sum(x[0:4, 0:8], 2)", "DSL0226"),
        ("reshape(x[0:4, 0:8], [5, 7])", "DSL0203"),
        ("concat([x[0:4, 0:8], i[0:4]], 0)", "DSL0202"),
        ("gather(x[0:4, 0:8], i[0:5], 0)", "DSL0212"),
        ("gather(x[:, 0:8], x[0, 0:5], 0)", "DSL0202"),
        ("dot(x[0:4, 0:8], t[0, 0:8, 0:2])", "DSL0202"),
        ("dot(x[0, 0:8], x[0:8, 0:2])", "DSL0213"),
        ("any(x[0:4, 0:8], 0)", "DSL0214"),
        ("zeros(f32, [0, 4])", "DSL0204"),
        ("x[0:4, 0:8][9]", "DSL0212"),
        ("x[x[0:4, 0] > 0.0, 0:8]", "DSL0212"),
        ("x[i[0:4], i[0:3]]", "DSL0203"),
        ("load(x[i[0:4], 0:8], other=1.0)", "DSL0212"),
        ("x[0:4, 0:8][i[0:4], x[0, 0:4]]", "DSL0212"),
        ("x[4:0, 0:8]", "DSL0204"),
        ("block_index()", "DSL0215"),
        ("sqrt(-1)", "DSL0224"),
        ("topk(x[0:4, 0:8], 9, 1)", "DSL0204"),
        ("topk(x[0:4, 0:8], 0, 1)", "DSL0204"),
        ("sort(zeros(f32, [32768]), 0)", "DSL0204"),
        ("sort(x[0:4, 0:8] > 0, 1)", "DSL0214"),
        ("prod(x[0:4, 0:8], 2)", "DSL0226"),
        ("reduce(3, x[0:4, 0:8], 1)", "DSL0219"),
        ("reduce(maximum, M, 0)", "DSL0219"),
        ("scan(maximum, [], 0)", "DSL0219"),
        ("scan(maximum, [x[0:4, 0:8], i[0:8]], 0)", "DSL0203"),
        ("scan(exp, x[0:4, 0:8], 1)", "DSL0205"),
        ("reduce(maximum, [x[0:4, 0:8], x[0:4, 0:8]], 1)", "DSL0214"),
    ],
)
def test_what_functions_refuse(expression, code):
    with pytest.raises(DiagnosticError) as e:
        statements(f"r = {expression}", HEAD)
    assert e.value.diagnostics[0].code == code


def test_the_explicit_level():
    kernel = one(
        """
kernel k(a: f16[M, K], w: u8[T, 96], c: out f16[M, 8]):
    la = column_local(2, 2).spatial(8, 4).local(1, 2)
    grid(M // 16)
    i = block_index()
    s = shared(f16, [2, 16, 16], layout=local(2, 1, 1).swizzle(local(16, 2), dim=1).local(1, 8))
    acc = register(f32, layout=local(2, 1).spatial(8, 4).local(1, 2), init=0)
    copy_async(s[0], a[i * 16 : i * 16 + 16, 0:16])
    commit()
    wait(0)
    sync()
    ra = load(s[0, :, :], layout=la)
    bytes = load(w[0, :], layout=local(3).spatial(32))
    rb = cast(view(bytes, i6, local(2, 1).column_spatial(4, 8).local(2, 1)), f16)
    acc += dot(ra, rb)
    c[i * 16 :, :] = cast(acc, f16)
""".replace("c[i * 16 :, :]", "c[i * 16 : i * 16 + 16, :]")
    )
    (dot,) = every(kernel, ins.Dot)
    assert dot.a.type.layout.threads == 32
    assert dot.out.type.layout == dot.acc.type.layout
    assert every(kernel, ins.View)[0].out.type.dtype.name == "i6"


@pytest.mark.parametrize(
    "region", ["b[:, :]", "b[:, 0:8]", "b", "b[...]", "b[:16, :]", "b[::1, :]"]
)
def test_a_whole_axis_is_whole_whatever_the_layout_has(region):
    source = f"""
kernel k(b: f16[16, 8], c: out f32[1]):
    c[0] = sum(cast(load({region}, layout=LAYOUT), f32))
"""
    with pytest.raises(DiagnosticError) as e:
        one(source.replace("LAYOUT", "spatial(4, 8)"))
    assert e.value.diagnostics[0].code == "DSL0222"
    assert "[4, 8]" in e.value.diagnostics[0].message
    (load,) = every(one(source.replace("LAYOUT", "local(4, 1).spatial(4, 8)")), ins.Load)
    assert load.out.type.shape == (16, 8)


def test_an_open_slice_takes_its_length_from_the_layout():
    kernel = one("""
kernel k(a: f16[M, K], c: out f16[M, K]):
    t = load(a[3:, 5:], layout=spatial(8, 4).local(1, 2))
    c[0:8, 0:8] = t
""")
    assert every(kernel, ins.Load)[0].out.type.shape == (8, 8)


def test_every_function_of_the_language_is_there():
    named = """zeros full arange cast view sum max min argmax argmin any all cumsum transpose reshape
        broadcast repeat concat where select minimum maximum clamp abs exp exp2 log log2 sqrt rsqrt
        sin cos tanh sigmoid erf floor ceil round fma load gather scatter
        atomic_add atomic_max atomic_min atomic_exchange atomic_cas
        dim cdiv turns_at_once dot
        buffer shared register copy_async commit wait sync block_index semaphore_wait
        semaphore_release print store prod cumprod cummax cummin reduce scan sort argsort topk"""
    assert set(named.split()) == set(FUNCTIONS)
