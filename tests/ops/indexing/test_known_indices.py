"""An index that looks like one that was met before, and is another one, selects what it says."""

import numpy as np
import pytest

import torchlike as torch

# With a history: an array on the host is read in another way.
X = torch.arange(24.0).reshape(2, 3, 4).requires_grad_() * 1


class Number(int):
    """An integer that stands for another one as an index."""

    def __index__(self) -> int:
        return 0


EQUAL = [  # each pair is equal for Python
    (1, True),
    (0, False),
    (np.int64(1), True),
    ((1, 0), (True, False)),
    (slice(0, 1), slice(False, True)),
]


@pytest.mark.parametrize(("first", "second"), EQUAL)
def test_equal_indices_of_other_classes_are_other_indices(first, second):
    array = X.detach().numpy()
    for index in (first, second, first, second):
        assert np.array_equal(X[index].detach().numpy(), array[index])


def test_a_tensor_in_a_slice_is_read_each_time():
    end = torch.tensor(1)
    assert X[:end].shape == (1, 3, 4)
    end += 1
    assert X[:end].shape == (2, 3, 4)
    assert X[end - 2, :, :end].tolist() == [[0, 1], [4, 5], [8, 9]]


def test_an_integer_of_a_class_of_its_own_is_asked_for_its_index():
    assert X[1].tolist() == X[Number(1)].tolist()  # PyTorch, too, reads the number of what is an int


def test_an_index_is_looked_at_anew_for_another_shape():
    for size in (3, 4, 3):
        x = torch.arange(float(size)).requires_grad_() * 1
        assert x[-1].item() == size - 1
        assert x[1:].tolist() == list(range(1, size))
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        x[3]


def test_sizes_that_are_equal_and_no_integers_are_refused():
    x = torch.arange(4) * 1
    assert x.view(4, 1).shape == (4, 1)
    with pytest.raises(TypeError):
        x.view(4.0, 1)
    with pytest.raises(TypeError):
        x.reshape((4.0, 1))
    assert x.view(np.int64(4), torch.tensor(1)).shape == (4, 1)


def test_a_size_in_a_tensor_is_read_each_time():
    rows, x = torch.tensor(2), torch.arange(8) * 1
    assert x.view(rows, -1).shape == (2, 4)
    rows *= 2
    assert x.view(rows, -1).shape == (4, 2)
