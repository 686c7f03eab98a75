"""Copies in memory in the order of what they are copies of: strides, writes from all sides, and what comes of them."""

import copy
import io
import itertools
import warnings

import pytest

import torchlike as torch


def _copy():
    return torch.arange(20.0).view(4, 5).t().clone()


def test_copies_keep_the_order_of_dimensions():
    x = torch.arange(20.0).view(4, 5).t()
    for made in (x.clone(), x.double(), x.to(torch.int64), x.to(torch.float32, copy=True)):
        assert made.stride() == (1, 5) and not made.is_contiguous() and made.t().is_contiguous()
        assert not made._is_view() and made.tolist() == x.tolist()
    assert x.clone(memory_format=torch.contiguous_format).is_contiguous()
    image = torch.ones(2, 3, 4, 4).contiguous(memory_format=torch.channels_last)
    for made in (image.clone(), image.half()):
        assert made.is_contiguous(memory_format=torch.channels_last) and made.stride() == (48, 1, 12, 3)


@pytest.mark.parametrize(
    ("make", "stride"),
    [
        (lambda: torch.ones(4, 4).t()[:3], (1, 3)),
        (lambda: torch.ones(4, 6)[:, ::2], (3, 1)),
        (lambda: torch.ones(4).expand(3, 4), (4, 1)),
        (lambda: torch.ones(3, 1, 4).permute(2, 1, 0), (1, 4, 4)),
        (lambda: torch.ones(2, 3, 4).permute(2, 0, 1), (1, 12, 4)),
    ],
)
def test_copies_of_what_is_not_dense_are(make, stride):
    assert make().clone().stride() == stride


def test_writes_are_seen_from_all_sides():
    c = _copy()
    same, row, memory = c.detach(), c[1], c.t()
    c += 1
    same.mul_(2)
    row.fill_(7)
    memory[0, 0] = 9
    assert c[0].tolist() == [9, 12, 22, 32] and c[1].tolist() == [7] * 4 and c.stride() == (1, 5)
    assert torch.equal(same, c) and torch.equal(memory.t(), c)
    shared = c.numpy()
    shared[2, 0] = 5
    assert c[2, 0].item() == 5 and shared.strides == (4, 20)
    c.zero_()
    assert not shared.any() and not same.any()


def test_the_memory_is_in_the_other_order():
    c = _copy()
    assert torch.as_strided(c, (20,), (1,)).tolist() == list(range(20)) and c.untyped_storage().nbytes() == 80
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        c.view(-1)
    again = copy.deepcopy(c)
    file = io.BytesIO()
    torch.save(c, file)
    file.seek(0)
    for other in (again, torch.load(file)):
        assert other.stride() == (1, 5) and torch.equal(other, c)
    assert c.resize_(2, 2).tolist() == [[0, 1], [2, 3]]


def test_gradients_and_steps_go_through_them():
    x = torch.arange(12.0).view(3, 4).t().requires_grad_()
    made = x.clone()
    assert made.grad_fn.name() == "CloneBackward0"
    (made * made).sum().backward()
    assert x.grad.tolist() == (2 * x.detach()).tolist()
    y = made.detach().clone().requires_grad_()
    z = y.clone()
    z.mul_(3)
    (z[0] * 2).sum().backward()
    assert y.grad.tolist() == [[6] * 3] + [[0] * 3] * 3
    weight = torch.nn.Parameter(_copy())
    optimizer = torch.optim.Adam([weight], lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        (weight * weight).sum().backward()
        optimizer.step()
    plain = torch.nn.Parameter(_copy().contiguous())
    optimizer = torch.optim.Adam([plain], lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        (plain * plain).sum().backward()
        optimizer.step()
    assert weight.tolist() == plain.tolist() and weight.stride() == (1, 5)


def test_new_dimensions_of_one_element_have_the_strides_of_unsqueeze():
    x = torch.ones(5)
    assert (
        x.expand(1, 1, 5).stride() == x[None, None].stride() == torch.broadcast_to(x, (1, 1, 5)).stride() == (5, 5, 1)
    )
    assert x.expand(3, 1, 5).stride() == (0, 5, 1) and x.expand(1, 3, 5).stride() == (0, 0, 1)


@pytest.mark.parametrize(
    "dropped", [torch.nn.Dropout(0.5), torch.nn.Dropout1d(0.5), torch.nn.Dropout2d(0.5), torch.nn.Dropout3d(0.5)]
)
def test_dropout_keeps_the_order_of_dimensions(dropped):
    for order in itertools.permutations(range(3)):
        back = [order.index(d) for d in range(3)]
        for cut in (slice(None), slice(1, None)):
            x = (torch.arange(60.0).view(3, 4, 5) + 1).permute(order).contiguous().permute(back)[cut].requires_grad_()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Dropout2d warns of three dimensions
                y = dropped(x)
            assert y.permute(order).is_contiguous() and y.shape == x.shape
            assert torch.equal(y, torch.where(y != 0, 2 * x, 0)) and (y != 0).any()
            y.sum().backward()
            assert torch.equal(x.grad, 2.0 * (y != 0))  # pyright: ignore[reportArgumentType]
