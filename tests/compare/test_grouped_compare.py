"""Reductions of segments and products in groups, compared with PyTorch's: values, gradients, errors."""

import pytest

import torchlike

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.compare

NAN = float("nan")
DATA = [[1.0, 0.0], [3.0, 0.0], [3.0, NAN], [-2.0, 5.0], [0.0, 4.0]]


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "min", "prod"])
@pytest.mark.parametrize("initial", [None, 2])
def test_segments(reduce, initial):
    def ask(module):
        data = module.tensor(DATA, requires_grad=True)
        out = module.segment_reduce(data, reduce, lengths=module.tensor([3, 0, 2]), initial=initial)
        (out * module.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).sum().backward()
        return torch.tensor(out.tolist()), torch.tensor(data.grad.tolist())

    for ours, theirs in zip(ask(torchlike), ask(torch), strict=True):
        torch.testing.assert_close(ours, theirs, equal_nan=True)


@pytest.mark.parametrize("kind", ["rows", "columns", "sums", "pairs"])
def test_groups(kind):
    def ask(module):
        a = (module.arange(64.0).reshape(8, 8) % 11).requires_grad_()
        b = (module.arange(128.0).reshape(2, 8, 8) % 7).requires_grad_()
        ends = module.tensor([3, 8], dtype=module.int32)
        pair = {"rows": (a, b), "columns": (b, a), "sums": (a, a.t()), "pairs": (b, b)}[kind]
        out = module.nn.functional.grouped_mm(*pair, offs=None if kind == "pairs" else ends)
        return torch.tensor(out.tolist()), out.grad_fn.name()

    (ours, name), (theirs, wanted) = ask(torchlike), ask(torch)
    torch.testing.assert_close(ours, theirs)
    assert name == wanted
