"""``add(x, 2, y)``, ``addmm(beta, x, alpha, a, b)`` and their kin: the order of arguments of early PyTorch, with its warning."""

import warnings
from typing import Any

import pytest

import torchlike as torch

F: Any = torch

X, A, B = torch.full((2, 2), 3.0), torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[2.0, 1.0], [4.0, 8.0]])
V, M = torch.tensor([1.0, 2.0]), torch.ones(1, 2, 2)

ONE_FACTOR = {"add": (A,), "sub": (A,), "addcmul": (A, B), "addcdiv": (A, B)}
TWO_FACTORS = {"addmm": (X, A, B), "addmv": (V, A, V), "addr": (X, V, V), "addbmm": (X, M, M), "baddbmm": (M, M, M)}
FACTOR = {"add": "alpha", "sub": "alpha", "addcmul": "value", "addcdiv": "value"}


def _with_warning(call, words):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    assert [str(one.message).split(" (Triggered")[0] for one in caught] == [words]
    return result.tolist()


@pytest.fixture(autouse=True)
def each_warning_each_time():
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


@pytest.mark.parametrize("name", ONE_FACTOR)
def test_a_factor_before_the_tensors(name):
    tensors, factor = ONE_FACTOR[name], FACTOR[name]
    expected = getattr(torch, name)(X, *tensors, **{factor: 2}).tolist()
    names = "Tensor other" if len(tensors) == 1 else "Tensor tensor1, Tensor tensor2"
    head = "This overload of {0} is deprecated:\n\t{0}({1})\nConsider using one of the following signatures instead:\n\t{0}({2})"
    function = head.format(
        name,
        f"Tensor input, Number {factor}, {names}, *, Tensor out = None",
        f"Tensor input, {names}, *, Number {factor} = 1, Tensor out = None",
    )
    assert _with_warning(lambda: getattr(torch, name)(X, 2, *tensors), function) == expected
    assert _with_warning(lambda: getattr(torch, name)(X, 2, *tensors, out=torch.empty(2, 2)), function) == expected
    for form in (name, f"{name}_"):
        method = head.format(form, f"Number {factor}, {names}", f"{names}, *, Number {factor} = 1")
        assert _with_warning(lambda form=form: getattr(X.clone(), form)(2, *tensors), method) == expected


@pytest.mark.parametrize("name", TWO_FACTORS)
def test_factors_around_the_first_tensor(name):
    first, *others = TWO_FACTORS[name]
    scaled = getattr(torch, name)(first, *others, beta=2).tolist()
    both = getattr(torch, name)(first, *others, beta=2, alpha=3).tolist()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function = getattr(torch, name)
        assert function(2, first, *others).tolist() == scaled
        assert function(2, first, 3, *others).tolist() == both
        assert function(2, first, 3, *others, out=torch.empty(0)).tolist() == both
        for form in (name, f"{name}_"):
            assert getattr(first.clone(), form)(2, *others).tolist() == scaled
            assert getattr(first.clone(), form)(2, 3, *others).tolist() == both
    assert len(caught) == 7 and all("is deprecated" in str(one.message) for one in caught)


@pytest.mark.filterwarnings("ignore:This overload")
@pytest.mark.parametrize("name", ONE_FACTOR)
def test_a_tensor_without_dimensions_is_a_factor(name):
    tensors, number = ONE_FACTOR[name], torch.tensor(3.0)
    expected = getattr(torch, name)(X, *tensors, **{FACTOR[name]: 3}).tolist()
    assert getattr(torch, name)(X, number, *tensors).tolist() == expected
    assert getattr(X.clone(), name)(number, *tensors).tolist() == expected
    assert getattr(X.clone(), f"{name}_")(number, *tensors).tolist() == expected
    for refused in (torch.tensor([3.0]), torch.tensor(3.0, requires_grad=True)):
        with pytest.raises(TypeError):
            getattr(torch, name)(X, refused, *tensors)


@pytest.mark.filterwarnings("ignore:This overload")
def test_sums_take_numbers_for_tensors():
    x: Any = torch.tensor([1.5, 2.5])
    three = torch.tensor(3.0)
    assert F.add(x, three, 2).tolist() == [7.5, 8.5] and F.add(x, 2, 2.5).tolist() == [6.5, 7.5]
    assert F.sub(x, three, 2).tolist() == [-4.5, -3.5] and F.add(x, three, other=2).tolist() == [7.5, 8.5]
    assert F.add(2, 3, x).tolist() == [6.5, 9.5] and x.clone().add_(three, 2).tolist() == [7.5, 8.5]
    with pytest.raises(TypeError):
        F.addcmul(x, three, x, 2)


@pytest.mark.filterwarnings("ignore:This overload")
@pytest.mark.parametrize("name", TWO_FACTORS)
def test_a_factor_without_dimensions_before_the_first_tensor(name):
    first, *others = TWO_FACTORS[name]
    expected = getattr(torch, name)(first, *others, beta=2, alpha=3).tolist()
    assert getattr(torch, name)(torch.tensor(2.0), first, torch.tensor(3), *others).tolist() == expected


@pytest.mark.parametrize("name", TWO_FACTORS)
def test_factors_are_given_by_name(name):
    for args in (
        (*TWO_FACTORS[name], 1),
        (*TWO_FACTORS[name], 1, 2),
        (TWO_FACTORS[name][0], 3, *TWO_FACTORS[name][1:]),
    ):
        with pytest.raises(TypeError):
            getattr(torch, name)(*args)
    with pytest.raises(TypeError):
        torch.add(X, A, 2)  # pyright: ignore[reportCallIssue]
    assert torch.rsub(X, 5, 2).tolist() == [[-1, -1], [-1, -1]]
