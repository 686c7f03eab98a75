"""Wrong input raises at its line, with the exception and the text recorded from PyTorch, and changes nothing."""

import builtins

import numpy as np
import pytest

import torchlike as torch
from tests.errors.snippets import objects, rows


def state(tensor):
    """Returns everything that a user can see of a tensor. The gradient of a tensor that is not a leaf is only read if it is kept."""
    grad = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
    return {
        "values": tensor.tolist(), "dtype": tensor.dtype, "shape": tensor.shape, "stride": tensor.stride(),
        "version": tensor._version, "requires_grad": tensor.requires_grad, "node": tensor.grad_fn,
        "grad": grad if grad is None else grad.tolist(),
    }  # fmt: skip


def tensors(world):
    return {name: item for name, item in world.items() if isinstance(item, torch.Tensor)}


@pytest.mark.parametrize(("group", "line"), [pytest.param(g, s, id=f"{g}: {s}") for g, s in rows()])
def test_fails_as_in_pytorch_and_changes_nothing(golden, group, line):
    if group == "devices" and torch.cuda.is_available():
        pytest.skip("the line does not fail where there is a GPU")
    kind, text = golden("errors")["errors"][line]
    world = objects(torch)
    *before_it, failing = line.split("; ")
    exec("; ".join(before_it), world)
    before = {name: state(t) for name, t in tensors(world).items()}
    with pytest.raises(getattr(builtins, kind)) as caught:
        exec(failing, world)
    assert str(caught.value) == text
    assert {name: state(t) for name, t in tensors(world).items()} == before


def test_nothing_is_left_behind_in_the_engine():
    """Work recorded before a failing line is done, and the next line works."""
    a, b = torch.ones(2, 3), torch.ones(4)
    waiting = a * 2
    for _ in range(3):
        with pytest.raises(RuntimeError, match="must match the size"):
            waiting + b
    assert (waiting + 1).tolist() == [[3.0] * 3] * 2


def test_a_failed_step_leaves_model_and_optimizer_as_they_were():
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()

    def everything():
        momenta = [s["momentum_buffer"].tolist() for s in optimizer.state_dict()["state"].values()]
        parameters = [(p.tolist(), p.grad.tolist(), p._version) for p in model.parameters()]
        return momenta, parameters

    before = everything()
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        torch.nn.functional.cross_entropy(model(torch.ones(4, 4)), torch.zeros(4, dtype=torch.int64)).backward()
    with pytest.raises(IndexError, match="Target 2 is out of bounds"):
        torch.nn.functional.cross_entropy(model(torch.ones(1, 3)), torch.tensor([2])).backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss = (model(torch.ones(4, 3)) ** 2).sum()
        torch.autograd.grad(loss, list(model.parameters()))
        loss.backward()
    assert everything() == before


def test_an_error_in_the_loop_does_not_spoil_the_steps_after_it():
    """The same step gives the same numbers before and after a batch with a wrong label."""

    def train(bad_at):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        for step in range(6):
            labels = torch.tensor([0, 1, 7 if step == bad_at else 2])
            try:
                loss = torch.nn.functional.cross_entropy(model(torch.ones(3, 4)), labels)
                loss.item()
            except IndexError:
                labels = torch.tensor([0, 1, 2])
                loss = torch.nn.functional.cross_entropy(model(torch.ones(3, 4)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return [p.tolist() for p in model.parameters()]

    assert train(bad_at=3) == train(bad_at=None)


def test_labels_that_only_the_program_knows_are_checked_at_the_next_read():
    logits = torch.zeros(2, 3)
    labels = torch.tensor([0, 1]) * 3  # computed, so the host does not know them yet
    with pytest.raises(IndexError, match="Target 3 is out of bounds."):
        torch.nn.functional.cross_entropy(logits, labels).item()


@pytest.mark.recorded
@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x, flag: x.sum(0, keepdim=flag), r"sum\(\): argument 'keepdim' .*must be bool, not numpy.bool"),
        (lambda x, flag: x.mean(0, flag), r"mean\(\): argument 'keepdim' \(position 2\) must be bool, not numpy.bool"),
        (lambda x, flag: torch.topk(x, 1, 1, flag), "argument 'largest' .*must be bool, not numpy.bool"),
    ],
)
def test_numpys_bool_is_no_flag_and_is_a_number(call, text):
    x = torch.ones(2, 3)
    for flag in (np.bool_(True), np.bool_(False)):
        with pytest.raises(TypeError, match=text):
            call(x, flag)
    assert call(x, True) is not None
    assert (x + np.bool_(True)).tolist() == [[2.0] * 3] * 2  # PyTorch accepts it as a number


REFUSED = [
    lambda: torch.stack([torch.ones(2), torch.ones(3)]),
    lambda: torch.ones(2, 3) @ torch.ones(2, 3),
    lambda: torch.nn.Linear(2, 2)(torch.ones(3)),
    lambda: torch.ones(4).split([1, 2]),
    lambda: torch.fft.rfft(torch.ones(2, dtype=torch.complex64)),
    lambda: torch.nn.functional.layer_norm(torch.ones(3), (4,)),
]


@pytest.mark.parametrize("call", REFUSED)
def test_errors_carry_no_words_of_jax(call):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert getattr(caught.value, "__notes__", []) == []
    assert caught.value.__cause__ is None
