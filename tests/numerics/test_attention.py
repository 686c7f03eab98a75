"""Attention without the square of all scores: in blocks, and by cuDNN as far as it can be seen without a GPU."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array, lax
from jax.experimental.pallas import tpu as pltpu

from torchlike.numerics import attention, attention_kernels as kernels
from torchlike.numerics.attention import Attention, attend, attend_changed

pytestmark = pytest.mark.recorded
SIZES = (3, 4)  # of blocks

# Batch, heads of queries and of keys, numbers of queries and of keys, widths of keys and of values.
SHAPES = {
    "blocks of one size": (2, 2, 2, 6, 8, 3, 3),
    "a last block that is not full": (1, 2, 2, 7, 10, 3, 5),
    "more queries": (2, 1, 1, 11, 5, 4, 2),
    "heads that share": (2, 4, 2, 7, 9, 3, 3),
    "heads that share one": (1, 3, 1, 8, 9, 2, 4),
    "one query": (2, 2, 1, 1, 13, 3, 3),
    "one block": (2, 2, 2, 3, 4, 2, 2),
}
# Of a mask: whether it has the dimension, of batch, heads, queries and keys; and what its elements are.
MASKS = {
    "none": ("", ""),
    "keys": ("b..s", "bool"),
    "square": ("..ts", "bool"),
    "heads": (".nts", "float"),
    "all": ("bnts", "float"),
    "queries": ("..t.", "float"),
    "one number": ("....", "float"),
    "nowhere": ("..ts", "nowhere"),
}


def plain(of: Attention, *inputs: Array) -> Array:
    """The formula, written out."""
    (query, key, value, *masks), keep = attention._parted(of, inputs)
    group = query.shape[1] // key.shape[1]
    half = query.dtype.itemsize < 4
    if group > 1:
        key, value = (jnp.repeat(x, group, 1) for x in (key, value))
    sums: Any = jnp.float32 if half else query.dtype
    options: Any = {"precision": of.precision, "preferred_element_type": sums}
    scores = jnp.einsum("bnte,bnse->bnts", query, key, **options) * jnp.asarray(of.scale, sums)
    nowhere = jnp.asarray(-jnp.inf, sums)
    for mask in masks:
        scores = jnp.where(mask, scores, nowhere) if mask.dtype == bool else scores + mask.astype(sums)
    if of.causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, nowhere)
    top = jax.lax.stop_gradient(jnp.max(scores, -1, keepdims=True))
    # The numbers that a query which looks nowhere would give are put away before the exponential: their derivatives would be NaN.
    looks = ~jnp.isneginf(top)
    weights = jnp.exp(jnp.where(looks, scores - jnp.where(looks, top, 0), nowhere))
    total = jnp.sum(weights, -1, keepdims=True)
    weights = weights / jnp.where(looks, total, 1)
    if keep is not None:
        rows, columns = (lax.iota(np.int32, length) for length in weights.shape[2:])
        weights = weights * keep(rows[:, None], columns[None, :]).reshape(weights.shape).astype(weights.dtype)
    weights = weights.astype(query.dtype)
    return jnp.einsum("bnts,bnse->bnte", weights, value, **options).astype(query.dtype)


def arrays(shape: tuple[int, ...], mask: str, dtype: Any = np.float64) -> list[Any]:
    batch, heads, shared, queries, keys, width, values = shape
    random = np.random.default_rng(0)
    shapes = [(batch, heads, queries, width), (batch, shared, keys, width), (batch, shared, keys, values)]
    found = [random.standard_normal(s).astype(dtype) for s in shapes]
    if mask == "none":
        return found
    dims, kind = MASKS[mask]
    numbers = random.standard_normal(
        [n if d != "." else 1 for d, n in zip(dims, (batch, heads, queries, keys), strict=True)]
    )
    if kind == "float":
        return [*found, numbers.astype(dtype)]
    looks = numbers < 0.7
    looks[..., 0, :] = kind != "nowhere"
    return [*found, looks]


def both(causal: bool, precision: Any = lax.Precision.HIGHEST) -> tuple[Any, Any]:
    of = Attention(0.7, causal, precision, SIZES)
    return (lambda *a: attend(of, *a)), (lambda *a: plain(of, *a))


def close(got: Any, wanted: Any, *, tolerance: float = 1e-10) -> None:
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), rtol=tolerance, atol=tolerance)


def moving(inputs: list[Any]) -> int:
    return len(inputs) - (inputs[-1].dtype == bool)


def with_fixed(function: Any, inputs: list[Any]) -> Any:
    """The function of what can change: all but a mask of booleans."""
    fixed = inputs[moving(inputs) :]
    return lambda *a: function(*a, *fixed)


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


# Each shape with two masks, and each mask causal and not.
CASES = [
    (shape, mask, bool((n + m) % 2))
    for n, shape in enumerate(SHAPES)
    for m, mask in enumerate(MASKS)
    if (m - n) % 4 == 0
] + [("heads that share", mask, causal) for mask in ("none", "nowhere") for causal in (False, True)]


@pytest.mark.costly
@pytest.mark.parametrize(("shape", "mask", "causal"), CASES)
def test_blocks_have_the_numbers_gradients_and_tangents_of_the_formula(shape, mask, causal):
    inputs = arrays(SHAPES[shape], mask)
    changing = inputs[: moving(inputs)]
    random = np.random.default_rng(1)
    changes = [random.standard_normal(x.shape) for x in changing]

    def everything(function):
        function = with_fixed(function, inputs)

        def all_of(changing, changes):
            out, change = jax.jvp(function, tuple(changing), tuple(changes))
            weight = jnp.arange(out.size, dtype=out.dtype).reshape(out.shape) / out.size
            return out, change, jax.vjp(function, *changing)[1](weight)

        return jax.jit(all_of)(changing, changes)

    close(*[everything(way) for way in both(causal)])


@pytest.mark.parametrize("mask", ["heads", "nowhere"])
def test_derivatives_of_derivatives(mask):
    inputs = arrays(SHAPES["heads that share"], mask)
    changing = inputs[: moving(inputs)]
    random = np.random.default_rng(1)
    changes = [random.standard_normal(x.shape) for x in changing]

    def everything(function):
        function = with_fixed(function, inputs)

        def penalty(*a):
            return sum((d**2).sum() for d in jax.grad(lambda *a: jnp.sin(function(*a)).sum(), range(len(a)))(*a))

        def slope(*a):
            return jnp.sin(jax.jvp(function, a, tuple(changes))[1]).sum()

        def all_of(*a):
            ways = jax.grad(penalty, range(len(a))), jax.grad(slope, range(len(a)))
            return [way(*a) for way in ways], jax.jvp(penalty, a, tuple(changes)), jax.jvp(slope, a, tuple(changes))

        return jax.jit(all_of)(*changing)

    close(*[everything(way) for way in both(True)], tolerance=1e-8)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("mask", "places"),
    [
        ("none", (0, 0, 0)),
        ("square", (1, None, None, None)),
        ("keys", (None, 2, None, 0)),
        ("heads", (None, None, None, 3)),
        ("one number", (0, None, 1, None)),
    ],
)
def test_batches(mask, places):
    inputs = arrays(SHAPES["heads that share"], mask)
    random = np.random.default_rng(1)
    stacked = []
    for x, place in zip(inputs, places, strict=True):
        if place is None:
            stacked.append(x)
            continue
        more = [x, *[x if x.dtype == bool else random.standard_normal(x.shape) for _ in range(2)]]
        stacked.append(np.stack(more, place))

    def everything(function):
        def gradient(*a):
            fixed = a[moving(inputs) :]
            return jax.grad(lambda *b: jnp.sin(function(*b, *fixed)).sum(), range(moving(inputs)))(*a[: moving(inputs)])

        def summed(*a):
            return jnp.sin(jax.vmap(function, places)(*a)).sum()

        def change(*a):
            return jax.jvp(lambda q: function(q, *a[1:]), (a[0],), (jnp.cos(a[0]),))[1]

        calls = [jax.vmap(f, places) for f in (function, gradient, change)] + [jax.grad(summed, range(moving(inputs)))]
        return [jax.jit(call)(*stacked) for call in calls]

    close(*[everything(way) for way in both(False)])


@pytest.mark.costly
@pytest.mark.parametrize("kind", [np.float16, jnp.bfloat16, np.float32])
def test_lower_precision_adds_up_in_float32(kind):
    inputs = arrays(SHAPES["heads that share"], "heads", kind)
    wide = [np.asarray(x, np.float64) for x in inputs]

    def everything(inputs):
        function = both(True)[0]
        out, pull = jax.vjp(function, *inputs)
        return out, pull(jnp.ones_like(out))

    for a, b in zip(jax.tree.leaves(everything(inputs)), jax.tree.leaves(everything(wide)), strict=True):
        assert a.dtype == kind
        step = float(jnp.finfo(kind).eps)
        np.testing.assert_allclose(np.asarray(a, np.float64), b, rtol=4 * step, atol=4 * step)


def test_what_is_not_a_number_is_handed_on():
    query, key, value = arrays(SHAPES["a last block that is not full"], "none")
    query[0, 0, 2] = np.nan
    out = both(False)[0](query, key, value)
    assert np.isnan(out[0, 0, 2]).all() and np.isfinite(out[0, 0, :2]).all() and np.isfinite(out[0, 1]).all()


def step(of, *operands):
    """Forward and backward."""
    *inputs, cotangent = operands
    out, pull = jax.vjp(lambda *a: attend(of, *a, *inputs[3:]), *inputs[:3])
    return out, pull(cotangent)


def shapes(queries: int, keys: int, width: int, dtype: Any, heads: int = 2, shared: int = 2) -> list[Any]:
    query, other = (2, heads, queries, width), (2, shared, keys, width)
    return [jax.ShapeDtypeStruct(s, dtype) for s in (query, other, other, query)]


def test_the_square_is_never_made():
    of = Attention(0.125, True, lax.Precision.HIGHEST)
    length = 8192
    operands = shapes(length, length, 64, np.float32)
    compiled = jax.jit(lambda *a: step(of, *a)).lower(*operands).compile()
    square = 4 * length * length * 4
    assert compiled.memory_analysis().temp_size_in_bytes < square / 10


def test_functions_that_change_scores_make_no_square():
    length = 4096
    of = Attention(
        0.25,
        False,
        lax.Precision.HIGHEST,
        change=lambda scores, b, h, q, k, slopes: scores + slopes[h] * (k - q).astype(np.float32),
        seen=lambda b, h, q, k, slopes: q >= k,
        moving=(0,),
    )
    operands = [*shapes(length, length, 16, np.float32)[:3], jax.ShapeDtypeStruct((2,), np.float32)]
    attend_so: Any = attend_changed
    gradients = jax.grad(lambda *a: attend_so(of, *a)[0].sum(), range(4))
    temporaries = jax.jit(gradients).lower(*operands).compile().memory_analysis().temp_size_in_bytes
    assert temporaries < 4 * length * length * 4 / 10


# ---- cuDNN: what a program for a GPU calls


@pytest.fixture
def hopper(monkeypatch):
    """As if there were a GPU of the newest kind but one."""
    if kernels.cudnn is None:
        pytest.skip("this version of JAX has no kernels of cuDNN")
    monkeypatch.setattr(kernels, "_capability", lambda: (9, 0))
    monkeypatch.setattr(kernels.cudnn, "check_cudnn_version", lambda: 91200)
    monkeypatch.setattr(kernels.cudnn, "check_compute_capability", lambda _: True)
    monkeypatch.setattr(kernels.cudnn, "is_cuda_compute_capability_equal", lambda _: False)


def calls(operands: list[Any], causal: bool = False, platform: str = "cuda") -> list[str]:
    of = Attention(0.125, causal, lax.Precision.HIGHEST)
    lowered = jax.jit(lambda *a: step(of, *a)).trace(*operands).lower(lowering_platforms=(platform,))
    return re.findall(r"__cudnn\$fmha(\w+)", lowered.as_text())


BIAS = jax.ShapeDtypeStruct((2, 1, 1, 66), bool)
PLAIN, MASKED = ["Softmax", "SoftmaxBackward"], ["ScaleBiasSoftmax", "ScaleBiasSoftmaxBackward"]


@pytest.mark.usefixtures("hopper")
@pytest.mark.parametrize(
    ("operands", "wanted"),
    [
        (shapes(64, 66, 64, jnp.bfloat16), PLAIN),
        (shapes(64, 66, 64, np.float16, 8, 2), PLAIN),
        (shapes(197, 197, 20, jnp.bfloat16), PLAIN),
        ([*shapes(63, 66, 64, jnp.bfloat16)[:3], BIAS, shapes(63, 66, 64, jnp.bfloat16)[3]], MASKED),
        (shapes(64, 66, 64, np.float32), []),
        (shapes(64, 66, 264, jnp.bfloat16), []),
    ],
)
def test_gpus_compute_half_types_by_cudnn(operands, wanted):
    for causal in (False, True):
        assert calls(operands, causal) == wanted
    assert not calls(operands, platform="cpu")


@pytest.mark.usefixtures("hopper")
@pytest.mark.parametrize("parts_heads", [False, True])
def test_cudnn_gets_operands_in_the_order_in_which_they_lie(parts_heads):
    of = Attention(0.125, True, lax.Precision.HIGHEST)

    def of_model(*operands):
        query, key, value, cotangent = (jnp.swapaxes(x, 1, 2) if parts_heads else x for x in operands)
        out, pull = jax.vjp(lambda *a: attend(of, *a), query, key, value)
        found = out, *pull(cotangent)
        return [jnp.swapaxes(x, 1, 2) if parts_heads else x for x in found]

    operands = [jax.ShapeDtypeStruct((2, 64, 4, 32) if parts_heads else (2, 4, 64, 32), jnp.bfloat16)] * 4
    text = jax.jit(of_model).trace(*operands).lower(lowering_platforms=("cuda",)).as_text()
    taken = re.findall(r"@__cudnn\$fmha\w+\(.*: \(tensor<([\dx]+)xbf16>", text)
    assert taken == ["2x64x4x32" if parts_heads else "2x4x64x32"] * 2


@pytest.mark.usefixtures("hopper")
def test_cudnn_computes_no_gradient_of_a_mask_and_rounds_none(monkeypatch):
    *inputs, cotangent = shapes(64, 66, 64, jnp.bfloat16)
    mask = jax.ShapeDtypeStruct((2, 1, 64, 66), jnp.bfloat16)
    of = Attention(0.125, False, lax.Precision.HIGHEST)

    def of_mask(*operands):
        *inputs, cotangent = operands
        out, pull = jax.vjp(lambda *a: attend(of, *a), *inputs)
        return out, pull(cotangent)

    lowered = jax.jit(of_mask).trace(*inputs, mask, cotangent).lower(lowering_platforms=("cuda",)).as_text()
    assert re.findall(r"__cudnn\$fmha(\w+)", lowered) == ["ScaleBiasSoftmax"]
    assert not calls([*inputs, jax.ShapeDtypeStruct((2, 1, 64, 66), np.float32), cotangent])
    monkeypatch.setattr(kernels, "_capability", lambda: (7, 5))
    assert not calls([*inputs, cotangent])


# ---- TPUs: what a program for one calls, and the kernel's numbers by Pallas's interpreter


@pytest.mark.parametrize(
    ("operands", "count"),
    [
        (shapes(256, 384, 64, jnp.bfloat16), 3),
        (shapes(256, 256, 64, jnp.bfloat16, 4, 2), 3),
        (shapes(200, 256, 64, jnp.bfloat16), 0),
        (shapes(256, 256, 64, np.float32), 0),
        ([*shapes(256, 256, 64, jnp.bfloat16)[:3], jax.ShapeDtypeStruct((1, 1, 1, 256), bool), shapes(256, 256, 64, jnp.bfloat16)[3]], 0),
    ],
)  # fmt: skip
def test_tpus_compute_bfloat16_by_a_kernel(operands, count):
    of = Attention(0.125, True, lax.Precision.HIGHEST)
    lowered = jax.jit(lambda *a: step(of, *a)).trace(*operands).lower(lowering_platforms=("tpu",))
    assert len(re.findall(r"custom_call @tpu_custom_call", lowered.as_text())) == count


@pytest.mark.parametrize("causal", [False, True])
def test_the_kernel_for_tpus_has_the_numbers_of_the_formula(causal):
    inputs = arrays((1, 2, 1, 256, 128, 16, 16), "none", jnp.bfloat16)
    of = Attention(0.25, causal, lax.Precision.HIGHEST)
    cotangent = jnp.cos(jnp.arange(inputs[0].size, dtype=jnp.float32)).reshape(inputs[0].shape).astype(jnp.bfloat16)
    with pltpu.force_tpu_interpret_mode():
        forward: Any = kernels.tpu_forward(of, False, *inputs)
        gradients: Any = kernels.tpu_gradients(of, False, *inputs, *forward, cotangent)
    wide = [jnp.asarray(x, jnp.float32) for x in inputs]
    wanted, pull = jax.vjp(lambda *a: plain(of, *a), *wide)
    for got, exact in zip([forward[0], *gradients], [wanted, *pull(cotangent.astype(jnp.float32))], strict=True):
        assert got.dtype == jnp.bfloat16
        np.testing.assert_allclose(np.asarray(got, np.float32), exact, rtol=0.03, atol=0.03 * float(abs(exact).max()))
