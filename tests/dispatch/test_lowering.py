"""Types are checked, and dtypes found, once for calls that differ in sizes alone; what depends on sizes is checked in each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from jax import Array

import torchlike as torch
from torchlike.dispatch import lowering
from torchlike.dispatch.apply import Dispatcher, apply
from torchlike.dispatch.opdef import Category, DtypeRule, Form, Op, Promote


def _dispatcher(compute: Callable[..., Array], promote: Any = Promote.NONE) -> Dispatcher:
    rule = DtypeRule(promote=promote, accepts=Category.FLOAT)
    return Dispatcher(Op(compute=compute, name="_scaled", dtype_rule=rule, forms=Form.NONE, samples=()))


def test_the_rule_of_promotion_sees_no_size() -> None:
    sizes = []

    def promote(input: object, count: int) -> Promote:
        sizes.append(count)
        return Promote.NONE

    def scaled(input: Array, count: int) -> Array:
        return input * count

    dispatcher, tensor = _dispatcher(scaled, promote), torch.ones(2)
    assert [apply(dispatcher, (tensor, count)).tolist() for count in (5, 7)] == [[5, 5], [7, 7]]
    assert sizes == [1]  # neither 5 nor 7, so that what it says holds for all sizes


def test_shapes_that_do_not_broadcast_raise_after_others_that_did() -> None:
    for size in (2, 3, 4):
        assert torch.add(torch.ones(2, size), torch.ones(size)).shape == (2, size)
    with pytest.raises(
        RuntimeError, match=r"The size of tensor a \(5\) must match the size of tensor b \(6\) at non-sing"
    ):
        torch.add(torch.ones(2, 5), torch.ones(6))


def test_a_tensor_without_dimensions_is_promoted_in_another_way() -> None:
    half = torch.ones(2, dtype=torch.float16)
    assert torch.add(half, torch.ones(2)).dtype is torch.float32
    assert torch.add(half, torch.ones(())).dtype is torch.float16


def test_a_changed_default_dtype_holds_for_sizes_that_come_later() -> None:
    assert torch.true_divide(torch.arange(2), torch.arange(2) + 1).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.true_divide(torch.arange(3), torch.arange(3) + 1).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_numbers_that_are_new_each_time_take_no_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering, "MAX_TYPINGS", 40)

    def scaled(input: Array, factor: float) -> Array:
        return input * factor

    dispatcher, tensor = _dispatcher(scaled), torch.ones(1)
    for number in range(60):
        assert apply(dispatcher, (tensor, number + 0.5)).item() == number + 0.5
    assert 0 < len(dispatcher.typings) <= 40


def test_a_number_among_the_sizes_is_checked_to_fit_each_time():
    """What is found once for all sizes must not depend on one: this number is of those that no tensor could replace."""
    x = torch.tensor([0.5]).half()
    assert torch.logit(x, 1).tolist() == [float("inf")]
    with pytest.raises(RuntimeError, match="value cannot be converted to type c10::Half without overflow"):
        torch.logit(x, 10**6)
