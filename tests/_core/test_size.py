"""torch.Size: the sum with a tuple is a Size, and a list that a Size is added to stays a list."""

from operator import add

import pytest

import torchlike as torch


def test_tuples_add_up_to_a_size():
    one, two = torch.Size([1]), torch.Size([2])
    for found in (add((1,), two), add(one, (2,)), one + two):
        assert type(found) is torch.Size
        assert found == (1, 2)


def test_a_list_takes_sizes_in_and_stays_a_list():
    sizes = [1]
    sizes += torch.Size([2, 3])
    assert type(sizes) is list
    assert sizes == [1, 2, 3]
    with pytest.raises(TypeError, match=r"can only concatenate list \(not .*Size\"\) to list"):
        add([1], torch.Size([2]))
    with pytest.raises(TypeError, match="can only concatenate tuple"):
        add(torch.Size([2]), [1])
