"""``torch._check`` and related functions, and methods that fill a tensor in place."""

import pytest

import torchlike as torch


@pytest.mark.parametrize(
    ("check", "error"),
    [
        (torch._check, RuntimeError), (torch._check_index, IndexError), (torch._check_value, ValueError),
        (torch._check_type, TypeError), (torch._check_not_implemented, NotImplementedError),
    ],
)  # fmt: skip
def test_what_is_false_raises_the_error_of_its_kind(check, error):
    check(True)
    with pytest.raises(error, match="Expected cond to be True, but got False"):
        check(False)
    with pytest.raises(error, match="^words$"):
        check(False, lambda: "words")


def test_only_bools_and_calls_for_words_are_taken():
    for given, words in (
        (1, "cond must be a bool, but got <class 'int'>"),
        (torch.tensor(True), "but got a Tensor. For tensor"),
    ):
        with pytest.raises(TypeError, match=words):
            torch._check(given)
    with pytest.raises(TypeError, match="message must be a callable"):
        torch._check(False, "words")  # pyright: ignore[reportArgumentType]
    torch._check_tensor_all(torch.tensor([True, True]))
    with pytest.raises(RuntimeError, match="Expected cond to be True"):
        torch._check_tensor_all(torch.tensor([True, False]))
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError):
        torch._check_is_size(-1)


@pytest.mark.parametrize(
    ("shape", "wrap", "wanted"),
    [
        ((2, 3), False, [[1, 0, 0], [0, 1, 0]]),
        ((5, 2), False, [[1, 0], [0, 1], [0, 0], [0, 0], [0, 0]]),
        ((5, 2), True, [[1, 0], [0, 1], [0, 0], [1, 0], [0, 1]]),
        ((2, 2, 2), True, [[[1, 0], [0, 0]], [[0, 0], [0, 1]]]),
    ],
)
def test_a_diagonal_is_filled(shape, wrap, wanted):
    x = torch.zeros(shape)
    assert x.fill_diagonal_(1, wrap=wrap) is x and x.tolist() == wanted


def test_diagonals_that_are_not_there():
    with pytest.raises(RuntimeError, match="dimensions must larger than 1"):
        torch.zeros(3).fill_diagonal_(1)
    with pytest.raises(RuntimeError, match="all dimensions of input must be of equal length"):
        torch.zeros(2, 3, 2).fill_diagonal_(1)


def test_a_python_function_is_applied_in_place():
    x = torch.tensor([[1, 2]], dtype=torch.int32)
    assert x.apply_(lambda v: v + 1.5) is x and x.tolist() == [[2, 3]] and x.dtype is torch.int32
    with pytest.raises(RuntimeError, match=r"Can't call apply_\(\) on Variable that requires grad"):
        torch.ones(1, requires_grad=True).apply_(lambda v: v)
