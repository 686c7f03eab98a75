"""Calls that are like earlier ones: what was found out at the first must not hold for what only compares equal to it."""

from typing import Any

import numpy as np
import pytest

import torchlike

torch: Any = torchlike  # some of the calls are wrong


@pytest.mark.parametrize("call", [lambda x, *sizes: x.view(*sizes), lambda x, *sizes: x.reshape(*sizes)])
@pytest.mark.parametrize("like", [True, 1.0, np.bool_(True), 1 + 0j])
def test_sizes_that_compare_equal_to_integers_are_refused(call, like):
    x = torch.arange(4)
    for tensor in (x, torch.arange(8).reshape(4, 2)[:, 0]):
        assert call(tensor, 1, 4).shape == call(tensor, (1, 4)).shape == (1, 4)
        with pytest.raises(TypeError):
            call(tensor, like, 4)
        with pytest.raises(TypeError):
            call(tensor, (like, 4))


def test_a_shape_is_found_anew_for_each_layout():
    x = torch.arange(6).reshape(2, 3)
    for _ in range(2):
        assert x.view(3, -1).tolist() == [[0, 1], [2, 3], [4, 5]]
        assert x.t().reshape(3, -1).tolist() == [[0, 3], [1, 4], [2, 5]]
        assert x.t().reshape(-1).tolist() == [0, 3, 1, 4, 2, 5]
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            x.t().view(-1)
        assert x[:, :2].view(2, 2, 1).shape == torch.Size([2, 2, 1])
        with pytest.raises(RuntimeError, match="shape '\\[4\\]' is invalid for input of size 6"):
            x.view(4)


def test_whether_a_reshaped_tensor_shares_memory_is_found_anew():
    for _ in range(2):
        x = torch.zeros(2, 3)
        x.reshape(6)[0] = 1
        assert x[0, 0].item() == 1
        y = torch.zeros(2, 3).t()
        y.reshape(6)[0] = 1
        assert y[0, 0].item() == 0
        y.reshape(3, 2)[0, 0] = 1
        assert y[0, 0].item() == 1
        z = torch.zeros(3, 2)  # of the same shape, and in order
        z.reshape(6)[0] = 1
        assert z[0, 0].item() == 1


def test_views_of_one_kind_lie_where_each_of_them_lies():
    x = torch.arange(24.0).reshape(2, 3, 4)
    for number in range(3):
        part = x.transpose(0, 1)[number]
        assert (part.stride(), part.storage_offset()) == ((12, 1), 4 * number)
        assert part.tolist() == [list(range(4 * number, 4 * number + 4)), list(range(12 + 4 * number, 16 + 4 * number))]
        wide = torch.arange(48.0).reshape(2, 3, 8).transpose(0, 1)[number]
        assert (wide.stride(), wide.storage_offset()) == ((24, 1), 8 * number)
        first, second = x.split(2, -1)
        assert (first.storage_offset(), second.storage_offset()) == (0, 2)


def test_a_view_of_the_same_shape_lies_as_what_it_is_a_view_of():
    x = torch.arange(9.0).reshape(3, 3)
    for _ in range(2):
        assert x.unsqueeze(0).stride() == (9, 3, 1)
        assert x.t().unsqueeze(0).stride() == (3, 1, 3)
        assert x.expand(3, 3).transpose(0, 1).stride() == (1, 3)
        assert x[0].expand(3, 3).transpose(0, 1).stride() == (1, 0)


KEYWORDS = [
    (lambda x: torch.add(input=x, other=x, alpha=2), [3.0, 6.0]),
    (lambda x: torch.add(x, other=x), [2.0, 4.0]),
    (lambda x: torch.add(x, alpha=2, other=x), [3.0, 6.0]),
    (lambda x: torch.sum(x, axis=0), 3.0),
    (lambda x: torch.clamp(x, max=1.0), [1.0, 1.0]),
    (lambda x: torch.clamp(x, min=1.5), [1.5, 2.0]),
    (lambda x: torch.clamp(max=1.5, input=x), [1.0, 1.5]),
]


@pytest.mark.parametrize(("call", "expected"), KEYWORDS)
def test_arguments_by_name_go_to_the_same_place_each_time(call, expected):
    for factor in (1.0, 1.0, 1.0):
        assert call(torch.tensor([1.0, 2.0]) * factor).tolist() == expected


REFUSED = [
    (lambda x: torch.add(x, x, other=x), "multiple values for argument 'other'|received an invalid combination"),
    (lambda x: torch.add(x, x, beta=1), "unexpected keyword argument 'beta'|received an invalid combination"),
    (lambda x: torch.add(alpha=2, other=x), "missing|received an invalid combination"),
    (lambda x: torch.sum(x, dim=0, axis=0), "unexpected keyword argument|received an invalid combination"),
    (lambda x: x.to(torch.float32, dtype=torch.float64), "received an invalid combination"),
    (lambda x: x.to(torch.float32, False, False, False), "received an invalid combination"),
    (lambda x: x.to(torch.float32, 1), "must be bool|received an invalid combination"),
    (lambda x: x.to(kind=torch.float32), "received an invalid combination"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_what_is_refused_is_refused_each_time(call, words):
    x = torch.tensor([1.0, 2.0])
    for _ in range(3):
        with pytest.raises(TypeError, match=words):
            call(x)


def test_limits_of_dtypes_are_objects_of_their_own():
    first, second = torch.finfo(torch.float16), torch.finfo(torch.float16)
    assert first == second and first is not second
    assert (first.max, torch.finfo(torch.bfloat16).bits, torch.finfo(torch.complex64).eps) == (65504.0, 16, 2.0**-23)


def test_to_with_one_dtype():
    x = torch.tensor([1.7, -1.7])
    assert x.to(torch.float32) is x
    assert x.to(torch.int64).tolist() == x.to(int).tolist() == x.to(dtype=torch.int64).tolist() == [1, -1]
    assert x.to(torch.tensor([1])).dtype is torch.int64
    assert x.to("cpu", torch.float64).dtype is torch.float64
    assert x.to(torch.float32, copy=True) is not x
