"""The number of inputs of a graph node, and the passes that PyTorch refuses because of it: numbers count as inputs too."""

from typing import Any

import pytest

import torchlike as torch

SECOND_TIME = r"^Trying to backward through the graph a second time \(or directly access saved tensors after they have"


def leaf(*values) -> Any:
    return torch.tensor(values, requires_grad=True)


A, C, N, M = leaf(0.5, 0.25), torch.ones(2), torch.arange(2), torch.tensor([True, False])
S: Any = leaf([0.1, 0.2], [0.3, 0.4])  # the node of square
F = torch.nn.functional
LEAF, NONE = "torch::autograd::AccumulateGrad", None

INPUTS: dict[str, tuple[Any, list[str | None]]] = {
    "a * 2": (lambda: A * 2, [LEAF, NONE]),
    "2 * a": (lambda: 2 * A, [LEAF, NONE]),
    "a + 2": (lambda: A + 2, [LEAF, NONE]),
    "2 + a": (lambda: 2 + A, [LEAF, NONE]),
    "a - 2": (lambda: A - 2, [LEAF, NONE]),
    "2 - a": (lambda: 2 - A, [LEAF]),
    "a / 2": (lambda: A / 2, [LEAF, NONE]),
    "2 / a": (lambda: 2 / A, ["ReciprocalBackward0", NONE]),
    "a ** 2": (lambda: A**2, [LEAF]),
    "2 ** a": (lambda: 2**A, [LEAF]),
    "a ** c": (lambda: A**C, [LEAF, NONE]),
    "c ** a": (lambda: C**A, [NONE, LEAF]),
    "a * True": (lambda: A * True, [LEAF, NONE]),
    "a * integers": (lambda: A * N, [LEAF, NONE]),
    "integers * a": (lambda: N * A, [NONE, LEAF]),
    "add with alpha": (lambda: torch.add(A, 2, alpha=3), [LEAF, NONE]),
    "div rounded": (lambda: torch.div(A, 2, rounding_mode="floor"), [LEAF, NONE]),
    "where, a number": (lambda: torch.where(M, A, 2.0), [LEAF, NONE]),
    "where, a number first": (lambda: torch.where(M, 2.0, A), [NONE, LEAF]),
    "where, integers": (lambda: torch.where(M, A, N), [LEAF, NONE]),
    "remainder by a number": (lambda: A % 2, [LEAF]),
    "clamp by numbers": (lambda: A.clamp(0, 1), [LEAF]),
    "clamp by a number": (lambda: A.clamp(min=0), [LEAF]),
    "clamp by a tensor": (lambda: torch.clamp(A, min=C), [LEAF, NONE, NONE]),
    "masked_fill by a number": (lambda: A.masked_fill(M, 2.0), [LEAF]),
    "masked_fill by a tensor": (lambda: A.masked_fill(M, torch.tensor(2.0)), [LEAF, NONE]),
    "lerp by a number": (lambda: torch.lerp(A, C, 0.5), [LEAF, NONE]),
    "gather": (lambda: A.gather(0, N), [LEAF]),
    "xlogy of a number": (lambda: torch.xlogy(2.0, A), [LEAF]),
    "cat": (lambda: torch.cat([A, C]), [LEAF, NONE]),
    "conv without bias": (lambda: F.conv1d(S[None], torch.ones(2, 2, 1)), ["UnsqueezeBackward0", NONE, NONE]),
    "layer_norm without weight": (lambda: F.layer_norm(S, (2,)), [LEAF, NONE, NONE]),
    "batch_norm by running statistics": (lambda: F.batch_norm(S, torch.zeros(2), torch.ones(2)), [LEAF, NONE, NONE]),
    "nll_loss": (lambda: F.nll_loss(S, N), [LEAF]),
    "binary_cross_entropy": (lambda: F.binary_cross_entropy(A, C), [LEAF, NONE]),
    "with logits": (lambda: F.binary_cross_entropy_with_logits(A, C), [LEAF, NONE]),
    "add in place": (lambda: A.exp().add_(2), ["ExpBackward0", NONE]),
    "copy_": (lambda: A.exp().copy_(C), ["ExpBackward0", NONE]),
}  # fmt: skip


@pytest.mark.parametrize("name", INPUTS)
def test_next_functions_has_an_entry_for_each_input_that_pytorchs_node_has(name):
    make, expected = INPUTS[name]
    edges = make().grad_fn.next_functions
    assert [node if node is None else node.name() for node, _ in edges] == expected
    assert [number for _, number in edges] == [0] * len(expected)


@pytest.mark.parametrize("factor", [2, torch.ones(2)])
def test_a_hook_of_a_node_sees_none_for_an_input_that_wants_no_gradient(factor):
    w, seen = leaf(1.0, 2.0), []
    y = w * factor
    y.grad_fn.register_hook(lambda made, arrived: seen.append((made, arrived)) or (made[0] * 10, None))
    y.sum().backward()
    ((made, arrived),) = seen
    assert made[0].tolist() == (torch.ones(2) * factor).tolist() and made[1] is None
    assert [g.tolist() for g in arrived] == [[1.0, 1.0]]
    assert w.grad.tolist() == (torch.ones(2) * factor * 10).tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a * 2, lambda a: 2 * a, lambda a: a / 2, lambda a: torch.div(a, 2, rounding_mode="floor"), lambda a: a * True,
        lambda a: torch.view_as_real(torch.complex(a, C)),
    ],
)  # fmt: skip
def test_a_node_that_keeps_a_number_can_be_passed_once(make):
    y = make(leaf(0.5, 0.25)).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        y.backward()


def test_a_write_into_a_part_can_be_passed_once():
    w, x = leaf(0.5, 0.25), torch.zeros(2)
    x[0] = w[0]
    x.sum().backward()
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        x.sum().backward()


@pytest.mark.parametrize("make", [lambda a: a + 2, lambda a: 2 - a, lambda a: a - 2, lambda a: -a])
def test_a_node_that_keeps_nothing_can_be_passed_again(make):
    w = leaf(0.5, 0.25)
    y = make(w).sum()
    y.backward()
    y.backward()
    assert w.grad.abs().tolist() == [2.0, 2.0]
