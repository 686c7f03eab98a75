"""autograd.forward_ad: operations on dual tensors compute tangents."""

import pytest

import torchlike as torch
from torchlike.autograd import forward_ad as fwad

X, V = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.5])


def test_a_tangent_is_carried_on():
    weight = torch.tensor([3.0, 4.0], requires_grad=True)
    with fwad.dual_level():
        x = fwad.make_dual(X, V)
        primal, tangent = fwad.unpack_dual(x * x)
        assert (primal.tolist(), tangent.tolist()) == ([1.0, 4.0], [2.0, 2.0])
        assert not primal.requires_grad and not tangent.requires_grad
        y = fwad.make_dual(X * 2, V * 3)
        assert fwad.unpack_dual(x * y).tangent.tolist() == [5.0, 5.0]
        assert fwad.unpack_dual(X * 2).tangent is None and fwad.unpack_dual(x.detach()).tangent is None
        assert fwad.unpack_dual(x.sign()).tangent.tolist() == [0.0, 0.0]
        primal, tangent = fwad.unpack_dual(x * weight)
    assert torch.autograd.grad(tangent.sum(), weight)[0].tolist() == V.tolist()
    assert torch.autograd.grad(primal.sum(), weight)[0].tolist() == X.tolist()


def test_levels_begin_and_end():
    with pytest.raises(RuntimeError, match="no level exists, make sure to enter_dual_level"):
        fwad.make_dual(X, V)
    assert fwad.unpack_dual(X).primal is X and fwad.unpack_dual(X).tangent is None
    level = fwad.enter_dual_level()
    with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
        fwad.enter_dual_level()
    with pytest.raises(RuntimeError, match="not the last one that was created"):
        fwad.exit_dual_level(level=3)
    y = fwad.make_dual(X, V) * 2
    fwad.exit_dual_level(level=level)
    with fwad.dual_level():
        assert fwad.unpack_dual(y).tangent is None
    assert fwad.unpack_dual(y).primal is y and fwad.unpack_dual(y).tangent is None


def test_what_cannot_carry_a_tangent_says_so():
    with fwad.dual_level():
        with pytest.raises(
            RuntimeError, match=r"Tensor is of size \[2\] while the given forward gradient is of size \[3\]"
        ):
            fwad.make_dual(X, torch.ones(3))
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: torch.int64"):
            fwad.make_dual(X.long(), V)
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level 0"):
            fwad.make_dual(fwad.make_dual(X, V), V)
        with pytest.raises(RuntimeError, match="Setting a forward grad that itself has a forward gradient"):
            fwad.make_dual(X, fwad.make_dual(X, V))


def test_the_tangent_itself_comes_back():
    for tangent in (V, torch.nn.Parameter(V), V.double(), X):
        with fwad.dual_level():
            x = fwad.make_dual(X, tangent)
            assert fwad.unpack_dual(x).tangent is tangent
            assert fwad.unpack_dual(x).tangent is tangent  # the same object at each call
            y = x * 2
            assert fwad.unpack_dual(y).tangent is fwad.unpack_dual(y).tangent
            y.mul_(3)
            assert fwad.unpack_dual(y).tangent.tolist() == (tangent * 6).tolist()


@pytest.mark.parametrize(
    ("primal", "tangent", "itself"),
    [
        (torch.ones(2), torch.arange(4.0)[2:], False),  # the storage offset differs
        (torch.ones(2), torch.arange(4.0)[:2], False),  # the storage is larger
        (torch.ones(2, 2), torch.ones(2, 2).t(), False),  # the strides differ
        (torch.ones(2, 2).t(), torch.ones(2, 2).t(), True),
        (torch.ones(1, 2), torch.ones(2, 1).t(), True),
        (torch.arange(4.0)[2:], torch.arange(4.0)[2:], True),
    ],
)
def test_a_tangent_that_lies_otherwise_than_its_primal_is_copied(primal, tangent, itself):
    with fwad.dual_level():
        x = fwad.make_dual(primal, tangent)
        found = fwad.unpack_dual(x).tangent
        assert found is not None and (found is tangent) is itself and found is fwad.unpack_dual(x).tangent
        assert found.tolist() == tangent.tolist()


@pytest.mark.parametrize("off", [fwad._set_fwd_grad_enabled, torch._C._set_fwd_grad_enabled])
def test_tangents_are_not_switched_off_without_effect_in_jvp(off):
    def within(x):
        off(False)
        return x * 2

    with pytest.raises(NotImplementedError, match=r"_set_fwd_grad_enabled\(False\) within torch.func.jvp"):
        torch.func.jvp(within, (X,), (V,))
    assert torch.func.jvp(lambda x: x * 2, (X,), (V,))[1].tolist() == [2.0, 1.0]
