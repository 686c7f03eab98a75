"""Operations that compare and decide see denormal numbers, although XLA computes with zero instead."""

import pytest

import torchlike as torch

TINY = {"float32": 1e-45, "float64": 5e-324, "bfloat16": 1e-40, "float16": 6e-8}
NAN = float("nan")


@pytest.fixture(params=TINY)
def d(request):
    return getattr(torch, request.param)


@pytest.fixture
def x(d):
    tiny = TINY[str(d).removeprefix("torch.")]
    return torch.tensor([tiny, 0.0, -tiny, -0.0, 4 * tiny, 1.0, NAN], dtype=d)


CASES = {
    "x > 0": [1, 0, 0, 0, 1, 1, 0],
    "x < 0": [0, 0, 1, 0, 0, 0, 0],
    "x >= 0": [1, 1, 0, 1, 1, 1, 0],
    "x <= 0": [0, 1, 1, 1, 0, 0, 0],
    "x == 0": [0, 1, 0, 1, 0, 0, 0],
    "x != 0": [1, 0, 1, 0, 1, 1, 1],
    "x == x": [1, 1, 1, 1, 1, 1, 0],
    "x > torch.zeros_like(x)": [1, 0, 0, 0, 1, 1, 0],
    "x == x.flip(0)": [0, 0, 0, 1, 0, 0, 0],
    "x.bool()": [1, 0, 1, 0, 1, 1, 1],
    "torch.logical_not(x)": [0, 1, 0, 1, 0, 0, 0],
    "torch.logical_and(x, x)": [1, 0, 1, 0, 1, 1, 1],
    "torch.logical_xor(x, torch.zeros_like(x))": [1, 0, 1, 0, 1, 1, 1],
    "torch.isclose(x, torch.zeros_like(x), rtol=0, atol=0)": [0, 1, 0, 1, 0, 0, 0],
    "torch.isin(x, torch.zeros_like(x))": [0, 1, 0, 1, 0, 0, 0],
    "x.sign().nan_to_num()": [1, 0, -1, 0, 1, 1, 0],
    "torch.heaviside(x[:6], x[:6] * 0 + 7)": [1, 7, 0, 7, 1, 1],
    "torch.count_nonzero(x)": 5,
    "x[:1].any()": 1,
    "x[:1].all()": 1,
    "x[:6].argmax()": 5,
    "x[:5].argmax()": 4,
    "x[:6].argmin()": 2,
    "x.argmin()": 6,
    "x.argmax()": 6,
    "x.argsort(stable=True)": [2, 1, 3, 0, 4, 5, 6],
    "x.argsort(stable=True, descending=True)": [6, 5, 4, 0, 1, 3, 2],
    "x[:5].topk(2).indices": [4, 0],
    "x[:6].kthvalue(4).indices": 0,
    "x[:5].max(0).indices": 4,
    "torch.searchsorted(x[[2, 1, 0, 4]], x[[0]])": [2],
    "torch.masked_select(x, x > 0).shape[0]": 3,
    "torch.nonzero(x).flatten()": [0, 2, 4, 5, 6],
}


@pytest.mark.parametrize("call", CASES)
def test_what_decides_sees_denormal_numbers(call, x):
    found = eval(call, {"torch": torch, "x": x})
    assert (found if isinstance(found, int) else found.tolist()) == CASES[call]


def test_the_compiler_does_not_undo_it_beside_other_ops(x):
    """If a comparison with zero is in one loop with a choice, LLVM would turn the comparison of bits into one of numbers."""
    for _ in range(3):  # the second time as one program
        kept = x.masked_fill(x == 0, 1)
        chosen = torch.where(x.bool(), x, torch.ones_like(x))
        assert (kept == chosen).tolist() == [True] * 6 + [False]
        assert kept[0].item() == x[0].item() and kept[2].item() == x[2].item() and kept[1].item() == 1


def test_values_in_order_are_the_elements_themselves(x):
    values = x[:6].sort().values.tolist()
    assert values == sorted(x[:6].tolist())
    assert x[:5].max(0).values.item() == x[4].item()


def test_complex_numbers_of_denormal_parts_are_not_zero():
    z = torch.tensor([complex(0, 1e-45), 0j, complex(-1e-45, 0)])
    assert (z == 0).tolist() == [False, True, False]
    assert z.bool().tolist() == [True, False, True]


def test_gradients_of_a_maximum_go_where_it_lies():
    x = torch.tensor([[1.0, 3.0, 3.0], [2.0, NAN, 0.0]], requires_grad=True)
    x.max(1).values.sum().backward()
    assert x.grad.tolist() == [[0, 1, 0], [0, 1, 0]]
