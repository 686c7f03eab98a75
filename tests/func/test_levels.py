"""What carries no gradient, the user's own derivatives and writes in place, under every transform: values that PyTorch gave."""

import pytest

import torchlike as torch
from tests.func import levels
from torchlike.func import grad, jvp, vmap

StraightThrough, WithJvp = levels.OURS.StraightThrough, levels.OURS.WithJvp
examples, three = levels.OURS.examples, levels.OURS.three


@pytest.mark.costly
@pytest.mark.parametrize("transform", levels.OURS.transforms)
def test_what_pytorch_gives(golden, transform):
    for function, expected in golden("levels")["given"][transform].items():
        result = levels.OURS.found(transform, function)
        if isinstance(expected, str) or isinstance(result, str):
            assert result == expected, function
        else:
            flat = torch.utils._pytree.tree_leaves
            assert flat(result) == pytest.approx(flat(expected), rel=1e-4, abs=1e-6), function


CAPTURED = {
    "itself": lambda outside, x: outside.mul_(x),
    "all of it": lambda outside, x: outside.__setitem__(..., x),
    "a part": lambda outside, x: outside[1:].mul_(x[1:]),
    "a part of a part": lambda outside, x: outside.view(2, 1)[0].copy_(x[:1]),
    "what shares its memory": lambda outside, x: outside.detach().mul_(x),
    "what a Function saves then": lambda outside, x: WithJvp.apply(outside.mul_(x)),
}


@pytest.mark.parametrize("how", CAPTURED)
@pytest.mark.parametrize("transform", [grad, lambda f: lambda x: jvp(f, (x,), (x,)), lambda f: grad(grad(f))])
def test_no_tensor_from_outside_is_written_to(transform, how):
    outside, kept = torch.ones(2), []

    def function(x):
        kept.append(CAPTURED[how](outside, x))
        return outside.sum()

    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        transform(function)(examples())
    assert outside.tolist() == [1.0, 1.0]
    assert not outside.requires_grad


def test_an_inner_derivative_writes_to_no_tensor_of_the_outer():
    def function(x):
        y = x * 1
        return grad(lambda z: (y.mul_(x) * z).sum())(x).sum()

    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        grad(function)(examples())


def write_to_own_zeros(x):
    y = torch.zeros_like(x)
    y += x
    y[0] *= 3
    return (y * y).sum() + WithJvp.apply(y).sum()


def test_an_example_is_written_to_tensors_of_the_mapped_function_that_a_graph_needs():
    x = torch.tensor([[1.0, 2.0], [3.0, -1.0]])
    expected = [[63.0, 14.0], [189.0, -7.0]]
    assert grad(lambda x: vmap(write_to_own_zeros)(x).sum())(x).tolist() == expected
    assert vmap(grad(write_to_own_zeros))(x).tolist() == expected
    x.requires_grad_()
    vmap(write_to_own_zeros)(x).sum().backward()
    assert x.grad.tolist() == expected


class Doubles(StraightThrough):
    @staticmethod
    def forward(x):
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])


def doubled_under_no_grad(x):
    y = x * 1
    with torch.no_grad():
        z = Doubles.apply(y)
    return z * x + y * x


def test_a_write_by_a_function_under_no_grad_is_seen_by_one_derivative_at_most():
    assert grad(doubled_under_no_grad)(three()).item() == 15.0
    with pytest.raises(NotImplementedError, match="mark_dirty"):
        grad(grad(doubled_under_no_grad))(three())
