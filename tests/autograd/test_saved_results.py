"""Results that a node saves: a write to one before the backward pass is an error, and a node keeps none of them alive."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable, Sequence

import pytest

import torchlike as torch
from torchlike._core.fields import storage_of
from torchlike._core.storage import SavedResult

F = torch.nn.functional
MODIFIED = "modified by an inplace operation"


def leaf(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def square() -> torch.Tensor:
    matrix = torch.randn(3, 3, dtype=torch.float64)
    return (matrix @ matrix.T + 3 * torch.eye(3, dtype=torch.float64)).requires_grad_()


# The numbers of the results to which PyTorch 2.13 refuses a write before the backward pass.
REFUSED: dict[str, tuple[Callable[[], Sequence[torch.Tensor]], set[int]]] = {
    "max": (lambda: leaf(3, 4).max(1), {1}),
    "min": (lambda: leaf(3, 4).min(1), {1}),
    "sort": (lambda: leaf(3, 4).sort(), {1}),
    "topk": (lambda: leaf(3, 4).topk(2), {1}),
    "kthvalue": (lambda: leaf(3, 4).kthvalue(2), {1}),
    "median": (lambda: leaf(3, 4).median(1), {1}),
    "nanmedian": (lambda: leaf(3, 4).nanmedian(1), {1}),
    "mode": (lambda: leaf(3, 4).mode(1), {1}),
    "cummax": (lambda: leaf(3, 4).cummax(1), {1}),
    "cummin": (lambda: leaf(3, 4).cummin(1), {1}),
    "aminmax": (lambda: leaf(3, 4).aminmax(dim=1), {0, 1}),
    "std_mean": (lambda: torch.std_mean(leaf(3, 4), 1), {0}),
    "var_mean": (lambda: torch.var_mean(leaf(3, 4), 1), set()),
    "frexp": (lambda: leaf(3).frexp(), {1}),
    "max_pool1d": (lambda: F.max_pool1d(leaf(1, 2, 6), 2, return_indices=True), {1}),
    "max_pool2d": (lambda: F.max_pool2d(leaf(1, 2, 6, 6), 2, return_indices=True), {1}),
    "max_pool3d": (lambda: F.max_pool3d(leaf(1, 2, 4, 4, 4), 2, return_indices=True), {1}),
    "adaptive_max_pool1d": (lambda: F.adaptive_max_pool1d(leaf(1, 2, 6), 2, return_indices=True), {1}),
    "adaptive_max_pool2d": (lambda: F.adaptive_max_pool2d(leaf(1, 2, 6, 6), 2, return_indices=True), {1}),
    "fractional_max_pool2d": (
        lambda: F.fractional_max_pool2d(leaf(1, 2, 6, 6), 2, output_size=3, return_indices=True), {1}),
    "svd": (lambda: torch.linalg.svd(square()), {0, 1, 2}),
    "eigh": (lambda: torch.linalg.eigh(square()), {0, 1}),
    "qr": (lambda: torch.linalg.qr(square()), {0, 1}),
    "slogdet": (lambda: torch.linalg.slogdet(square()), {0}),
    "lu": (lambda: torch.linalg.lu(square()), {0, 1, 2}),
    "lu_factor": (lambda: torch.linalg.lu_factor(square()), {0, 1}),
    "lu_factor_ex": (lambda: torch.linalg.lu_factor_ex(square()), {0, 1}),
    "inv_ex": (lambda: torch.linalg.inv_ex(square()), {0}),
    "solve": (lambda: [torch.linalg.solve(square(), leaf(3, 2))], {0}),
    "solve_ex": (lambda: torch.linalg.solve_ex(square(), leaf(3, 2)), {0}),
    "lstsq": (lambda: torch.linalg.lstsq(square(), leaf(3, 2)), {0}),
    "triangular_solve": (lambda: torch.triangular_solve(leaf(3, 2), square()), {0}),
}  # fmt: skip


def total(results: Iterable[torch.Tensor]) -> torch.Tensor:
    """The sum of copies of the results, whose backward does not read the results themselves."""
    return sum((each.clone().sum() for each in results if each.requires_grad), torch.zeros((), dtype=torch.float64))


@pytest.mark.parametrize("name", REFUSED)
def test_writes_to_saved_results_are_refused(name: str) -> None:
    call, refused = REFUSED[name]
    for number in range(len(call())):
        results = call()
        loss = total(results)
        with torch.no_grad():
            results[number].zero_()
        if number in refused:
            with pytest.raises(RuntimeError, match=MODIFIED):
                loss.backward()
        else:
            loss.backward()


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.add_(1),
        lambda t: t.__setitem__(0, 1),
        lambda t: t.view(-1)[0].fill_(1),
        lambda t: t[:1].zero_(),
        lambda t: t.detach().zero_(),
        lambda t: torch.add(t, 1, out=t),
        lambda t: t.copy_(t + 1),
        lambda t: [t.__setitem__((0, 0), 1) for _ in range(20)],
    ],
)
def test_every_kind_of_write_is_noticed(write: Callable[[torch.Tensor], object]) -> None:
    values, indices = leaf(3, 4).sort()
    loss = values.sum()
    write(indices)
    with pytest.raises(RuntimeError, match=MODIFIED):
        loss.backward()


def test_the_message_names_the_output() -> None:
    values, vectors = torch.linalg.eigh(square())
    loss = values.clone().sum()
    with torch.no_grad():
        vectors.mul_(2).mul_(2)
    with pytest.raises(
        RuntimeError, match=r"\[torch.DoubleTensor \[3, 3\]\], which is output 1 of LinalgEigh, is at version 2; exp"
    ):
        loss.backward()
    values, indices = leaf(2).max(0)
    indices.add_(1)
    with pytest.raises(RuntimeError, match=r"\[torch.LongTensor \[\]\] is at version 1; expected version 0 instead"):
        values.backward()


def test_a_write_by_data_or_after_the_backward_pass_is_none() -> None:
    x = leaf(3, 4)
    values, indices = x.max(1)
    indices.data.zero_()
    values.sum().backward(retain_graph=True)
    assert x.grad is not None and x.grad.sum() == 3
    indices.zero_()
    with pytest.raises(RuntimeError, match=MODIFIED):
        values.sum().backward()
    values, indices = x.max(1)
    values.sum().backward()
    indices.zero_()


def test_a_write_is_noticed_in_a_later_round() -> None:
    """The backward pass of a loop's later rounds is replayed."""
    x = leaf(3, 4)
    for number in range(6):
        values, indices = (x * 2).max(1)
        if number == 5:
            indices.add_(0)
            with pytest.raises(RuntimeError, match=MODIFIED):
                values.sum().backward()
        else:
            values.sum().backward()
            x.grad = None


def test_what_hooks_have_packed_is_not_looked_for() -> None:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        values, indices = leaf(3, 4).sort()
    indices.zero_()
    values.sum().backward()


def test_a_node_keeps_no_result_alive() -> None:
    values, indices = leaf(3, 4).max(1)
    storage = weakref.ref(storage_of(indices))
    assert isinstance(storage(), SavedResult)
    del indices
    gc.collect()
    assert storage() is None
    values.sum().backward()


def test_second_backward_is_refused_although_nothing_else_is_saved() -> None:
    values = leaf(1, 1).max(1).values
    values.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        values.backward()
