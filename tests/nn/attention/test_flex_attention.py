"""Attention with user-defined scores and masks. The choice of a kernel changes nothing."""

from typing import Any

import pytest

import torchlike as torch
from torchlike.nn.attention import SDPBackend, flex_attention as flex, sdpa_kernel
from torchlike.nn.attention.flex_attention import (
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)
from torchlike.nn.functional import scaled_dot_product_attention

pytestmark = pytest.mark.composed

torch.manual_seed(0)
Q = torch.randn(2, 2, 4, 3)


def causal(b, h, q, k):
    return q >= k


def test_a_causal_mask_is_that_of_plain_attention():
    mask = create_block_mask(causal, None, None, 4, 4)
    out, lse = flex_attention(Q, Q, Q, block_mask=mask, return_lse=True)
    torch.testing.assert_close(out, scaled_dot_product_attention(Q, Q, Q, is_causal=True))
    assert mask.shape == (1, 1, 4, 4) and mask.sparsity() == 37.5 and lse.shape == (2, 2, 4)


def test_scores_are_changed_by_places_and_by_tables():
    slopes = torch.tensor([0.5, 0.25])
    out = flex_attention(Q, Q, Q, lambda score, b, h, q, k: score - slopes[h] * (q - k).abs())
    places = torch.arange(4)
    bias = -slopes[:, None, None] * (places[:, None] - places).abs()
    torch.testing.assert_close(out, scaled_dot_product_attention(Q, Q, Q, bias))


def test_a_query_that_looks_nowhere_gets_zeros_and_a_gradient_that_is_a_number():
    x = Q.clone().requires_grad_()
    out = flex_attention(
        x, x, x, block_mask=create_block_mask(and_masks(causal, lambda b, h, q, k: q > 0), None, None, 4, 4)
    )
    out.sum().backward()
    assert not out[:, :, 0].any() and x.grad.isfinite().all()


def test_heads_are_shared():
    with pytest.raises(ValueError, match="Try setting enable_gqa=True for GQA"):
        flex_attention(Q, Q[:, :1], Q[:, :1])
    out = flex_attention(Q, Q[:, :1], Q[:, :1], enable_gqa=True)
    torch.testing.assert_close(out, scaled_dot_product_attention(Q, Q[:, :1], Q[:, :1], enable_gqa=True))


def test_masks_are_joined():
    before = or_masks(lambda b, h, q, k: q == k, lambda b, h, q, k: k == 0)
    assert create_mask(before, None, None, 2, 3).tolist() == [[[[True, False, False], [True, True, False]]]]
    assert create_mask(noop_mask, 1, 1, 1, 2).tolist() == [[[[True, True]]]]
    with pytest.raises(RuntimeError, match="All inputs should be callable mask_mods"):
        and_masks(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="was created for a smaller length"):
        flex_attention(Q, Q, Q, block_mask=create_block_mask(causal, None, None, 2, 2))
    with pytest.raises(NotImplementedError, match="must be 4D tensors"):
        flex_attention(Q[0], Q, Q)


def test_a_kernel_may_be_asked_for():
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        pass
    with pytest.raises(
        AssertionError, match="Backend must be an instance of SDPBackend or a list of SDPBackend instances, got str"
    ):
        sdpa_kernel("flash").__enter__()  # pyright: ignore[reportArgumentType]


# ---- in blocks, which are taken for longer sequences

LONG, KEYS = 789, 811  # more than one block, and not whole ones
DOCUMENTS = torch.arange(1000) // 250


def alibi(score, b, h, q, k, slopes):
    return score + slopes[h] * (k - q)


def softcap(score, b, h, q, k, _):
    return torch.tanh(score / 3) * 3


def by_table(score, b, h, q, k, slopes):
    return torch.where(k - q > 300, -float("inf"), score * slopes[0] + torch.sigmoid(slopes)[(q + k) % 2])


def window(b, h, q, k):
    return (q >= k) & (q - k < 100)


def documents(b, h, q, k):
    return (DOCUMENTS[q] == DOCUMENTS[k]) & (k > 5) & (b >= 0)


def formula(q, k, v, score: Any, mask: Any):
    """All at once, written out."""
    k, v = (x.repeat_interleave(2 // x.shape[1], 1) for x in (k, v))
    places = [
        torch.arange(n).reshape([n if at == d else 1 for d in range(4)]) for at, n in enumerate((1, 2, LONG, KEYS))
    ]
    scores = q @ k.mT / q.shape[-1] ** 0.5
    scores = score(scores, *places) if score else scores
    scores = torch.where(mask(*places), scores, -float("inf")) if mask else scores
    lse = scores.logsumexp(-1)
    return (scores - torch.where(lse.isinf(), 0.0, lse)[..., None]).exp() @ v, lse


@pytest.mark.parametrize("shared", [2, 1])
@pytest.mark.parametrize("score", [None, alibi, softcap, by_table])
@pytest.mark.parametrize("mask", [None, causal, window, documents])
def test_blocks_give_what_the_formula_gives(score: Any, mask: Any, shared: int):
    torch.manual_seed(1)
    x, y, z = (torch.randn(1, heads, n, 8) for heads, n in ((2, LONG), (shared, KEYS), (shared, KEYS)))
    slopes = torch.tensor([0.02, 0.01])
    block_mask = mask and create_block_mask(mask, None, None, LONG, KEYS)
    found = []
    for way in (None, SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
        inputs = [t.clone().requires_grad_() for t in (x, y, z, slopes)]
        change = score and (lambda *args, table=inputs[3]: score(*args, table))
        if way is None:
            out, lse = formula(*inputs[:3], score=change, mask=mask)
        else:
            with sdpa_kernel(way):
                out, lse = flex_attention(*inputs[:3], change, block_mask, enable_gqa=shared == 1, return_lse=True)
        looks = lse.isfinite()
        (out.square().sum() + torch.where(looks, lse, 0.0).sin().sum()).backward()
        found.append([out, lse, *(t.grad for t in inputs if t.grad is not None)])
    for wanted, *got in zip(*found, strict=True):
        for each in got:
            torch.testing.assert_close(each, wanted, atol=2e-5, rtol=2e-4)


def test_a_function_that_is_made_anew_is_compiled_once():
    x = torch.randn(1, 1, 800, 8, requires_grad=True)

    def step(slope):
        slopes = torch.tensor([slope])
        flex_attention(x, x, x, lambda score, b, h, q, k: score - slopes[h] * (q - k).abs()).sum().backward()
        return x.grad.sum().item()

    for slope in (0.1, 0.2, 0.3):
        step(slope)
    torch.explain(reset=True)
    step(0.4)
    assert torch.explain().compiles == torch.explain().op_compiles == 0


RANDOM = {
    "dropout": lambda score, *_: torch.nn.functional.dropout(score, 0.5),
    "rand": lambda score, *_: score + torch.rand(()),
    "rand_like": lambda score, *_: score + torch.rand_like(score),
    "in place": lambda score, *_: (score * 1).uniform_(),
}


@pytest.mark.parametrize("name", RANDOM)
@pytest.mark.parametrize("length", [4, 800])
def test_random_functions_of_scores_are_refused(name, length):
    x = torch.randn(1, 1, length, 3)
    with pytest.raises(RuntimeError, match="vmap: called random operation while in randomness error mode. Please"):
        flex_attention(x, x, x, RANDOM[name])


def test_random_masks_are_refused_and_dropout_that_drops_nothing_is_not():
    x = torch.randn(1, 1, 4, 3)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        flex_attention(x, x, x, block_mask=create_block_mask(lambda *_: torch.rand(()) > 0.5, None, None, 4, 4))
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        create_mask(lambda b, h, q, k: torch.rand(()) + q - k > 0.5, 1, 1, 4, 4)
    out = flex_attention(x, x, x, lambda score, *_: torch.nn.functional.dropout(score, 0.5, training=False))
    torch.testing.assert_close(out, scaled_dot_product_attention(x, x, x))
    torch.rand(())  # and nothing is refused afterwards


def test_blocks_are_differentiated_twice_and_forwards():
    x = torch.randn(1, 1, 800, 4, dtype=torch.float64, requires_grad=True)
    table = torch.randn(9, dtype=torch.float64, requires_grad=True)
    change = torch.randn_like(x)

    def attend(x, table):
        return flex_attention(x, x, x, lambda score, b, h, q, k: score * table[(q + k) % 9])

    found = []
    for way in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
        with sdpa_kernel(way):
            first = torch.autograd.grad(attend(x, table).sin().sum(), [x, table], create_graph=True)
            second = torch.autograd.grad(sum(g.square().sum() for g in first), [x, table])
            moved = torch.func.jvp(lambda x: attend(x, table), (x.detach(),), (change,))[1]
            mapped = torch.vmap(attend, (None, 0))(x, torch.stack([table, table + 1]))
        found.append([*first, *second, moved, mapped])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return -g


def without_grad(score, p):
    with torch.no_grad():
        other = score * p
    return score + other


def hooked(score, p):
    product = score * p
    if product.requires_grad:
        product.register_hook(lambda g: 2 * g)
    return product


def in_place(score, p):
    score = score * 1
    score[..., 0] = p[..., 0]
    score += 1
    return score


OWN_GRADIENTS = {  # what the arithmetic of a function does not say, and whether it does here
    "detach": (lambda score, p: score * score.detach() * p, False),
    "a captured tensor's detach": (lambda score, p: score * p.detach(), False),
    "data": (lambda score, p: score * p.data + p, False),
    "no_grad": (without_grad, False),
    "a Function": (lambda score, p: Straight.apply(score * 3) / 3 + p, False),
    "a Function that computes nothing": (lambda score, p: Reversed.apply(score * 2) * p, False),
    "a hook": (hooked, False),
    "in place": (in_place, True),
    "edges": (lambda score, p: (score * 0).relu() + (score * 0 + 1).clamp(max=1) * score * p + (score * 0).abs(), True),
}


@pytest.mark.parametrize("transform", ["backward", "grad"])
@pytest.mark.parametrize("name", OWN_GRADIENTS)
def test_what_no_gradient_goes_through_and_rules_of_its_own_hold_in_a_function(name, transform, monkeypatch):
    """Beside the formula, written out."""
    change, plain = OWN_GRADIENTS[name]
    if name == "a hook" and transform == "grad":
        pytest.skip("PyTorch has no hooks within transforms")
    if "Function" in name and transform == "grad":
        pytest.skip("a Function needs setup_context within transforms")
    by_formula = []
    monkeypatch.setattr(flex, "_by_formula", lambda *a, known=flex._by_formula: by_formula.append(True) or known(*a))
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 7, 4, dtype=torch.float64) for _ in range(3))
    p = torch.tensor([0.5, 1.5], dtype=torch.float64)

    def written_out(q, k, v, p):
        return change(q @ k.mT * 0.5, p[:, None, None]).softmax(-1) @ v

    def attention(q, k, v, p):
        return flex.flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: change(score, p[h]))

    def gradients(f):
        if transform == "grad":
            return torch.func.grad(lambda *inputs: f(*inputs).square().sum(), (0, 1, 2, 3))(q, k, v, p)
        inputs = [x.clone().requires_grad_() for x in (q, k, v, p)]
        f(*inputs).square().sum().backward()
        return [torch.zeros(()) if x.grad is None else x.grad for x in inputs]

    for found, wanted in zip(gradients(attention), gradients(written_out), strict=True):
        torch.testing.assert_close(found, wanted.expand_as(found) if wanted.dim() == 0 else wanted)
    assert bool(by_formula) != plain
