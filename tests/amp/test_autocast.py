"""The precision in which autocast runs each op, seen from the dtypes of results, for the lists of both kinds of device."""

import warnings

import pytest

import torchlike as torch
from tests.amp.rows import ROWS
from torchlike import nn
from torchlike.dispatch import autocast as _autocast, bindings as _forms
from torchlike.dispatch.apply import apply

pytestmark = pytest.mark.composed

F = nn.functional
HALVES = {"cpu": torch.bfloat16, "cuda": torch.float16}
LETTERS = {
    torch.float32: "f", torch.float64: "d", torch.complex64: "c", torch.complex128: "z", torch.int64: "i",
}  # fmt: skip


def made(call, dtype, half):
    def x(*shape, dtype=dtype):
        return torch.full(shape, 0.5, dtype=dtype)

    def positive(n, dtype=dtype):
        return (torch.eye(n) * 2).to(dtype)

    names = {
        "torch": torch, "F": F, "x": x, "positive": positive, "h": lambda *shape: x(*shape, dtype=half),
        "w": lambda *shape: x(*shape, dtype=torch.float32), "positive32": lambda n: positive(n, torch.float32),
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(call, names).dtype


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize(("call", "on_cpu", "on_cuda"), ROWS, ids=[row[0] for row in ROWS])
def test_each_op_gives_the_dtype_that_it_gives_in_pytorch(monkeypatch, device, call, on_cpu, on_cuda):
    """CUDA's list is applied to tensors on the CPU here, so that it is tested everywhere."""
    monkeypatch.setitem(_autocast.LISTS, "cpu", device)
    half = HALVES[device]
    for dtype, expected in zip(
        (torch.float32, half, torch.float64), {"cpu": on_cpu, "cuda": on_cuda}[device], strict=True
    ):
        if expected != "-":
            with torch.autocast("cpu", dtype=half):
                assert (LETTERS | {half: "h"})[made(call, dtype, half)] == expected, dtype


def test_binary_cross_entropy_is_refused_by_the_list_of_cuda(monkeypatch):
    monkeypatch.setitem(_autocast.LISTS, "cpu", "cuda")
    with torch.autocast("cpu"), pytest.raises(RuntimeError, match="BCELoss are unsafe to autocast"):
        F.binary_cross_entropy(torch.full((2,), 0.5), torch.ones(2))


def test_two_half_types_are_not_promoted():
    with torch.autocast("cpu"), pytest.raises(RuntimeError, match="Unexpected floating ScalarType in at::autocast"):
        torch.cat([torch.ones(1, dtype=torch.bfloat16), torch.ones(1, dtype=torch.float16)])


def test_nothing_of_autocast_stays_behind():
    """No function is replaced, and outside the context each op is as it was."""
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        assert _forms.apply is apply
        torch.mm(x, x)
    assert _forms.apply is apply and torch.mm(x, x).dtype is torch.float32


def test_inside_an_op_that_is_cast_as_a_whole_nothing_is_cast_again():
    """``cosine_embedding_loss`` runs in float32, and has float32's precision although its inputs have a half type."""
    x = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.bfloat16)
    y = torch.tensor([[1.0, 2.0, 3.5]], dtype=torch.bfloat16)
    plain = F.cosine_embedding_loss(x.float(), y.float(), torch.ones(1))
    with torch.autocast("cpu"):
        assert torch.equal(F.cosine_embedding_loss(x, y, torch.ones(1)), plain)


def test_in_place_and_out_keep_the_dtype_and_the_precision():
    a = torch.tensor([[1.001, 0.0], [0.0, 1.001]])
    with torch.autocast("cpu"):
        out = torch.mm(a, a, out=torch.empty(2, 2))
        added = torch.zeros(2, 2).addmm_(a, a)
    assert torch.equal(out, a @ a) and torch.equal(added, a @ a)


def test_gradients_come_back_in_the_dtype_of_the_leaves():
    x = torch.randn(3, requires_grad=True)
    with torch.autocast("cpu"):
        torch.stack([x, x]).inner(x).sum().backward()
    assert x.grad.dtype is torch.float32
