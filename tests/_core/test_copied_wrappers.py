"""``copy.deepcopy`` of tensors of subclasses: those without memory are copied by their own ``clone``."""

import copy
from typing import Any

import pytest

import torchlike as torch
from torchlike._core.overridable import DISPATCHED, hooks


@pytest.fixture(autouse=True, scope="module")
def classes_that_are_forgotten():
    """What comes after these tests runs as if no class had defined ``__torch_dispatch__``."""
    before = hooks.on, {*DISPATCHED}
    yield
    hooks.on = before[0]
    DISPATCHED.clear()
    DISPATCHED.update(before[1])


class Wrapper(torch.Tensor):
    asked: list[str] = []

    @staticmethod
    def __new__(cls, elem):
        return torch.Tensor._make_wrapper_subclass(cls, elem.size(), dtype=elem.dtype, requires_grad=elem.requires_grad)  # pyright: ignore[reportAttributeAccessIssue]

    def __init__(self, elem):
        self.elem = elem

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.asked.append(str(func))
        out = func(*[a.elem if isinstance(a, Wrapper) else a for a in args], **(kwargs or {}))
        return Wrapper(out) if isinstance(out, torch.Tensor) else out


def test_a_wrapper_is_copied_by_its_clone():
    w = Wrapper(torch.ones(2))
    w.note = [1]  # pyright: ignore[reportAttributeAccessIssue]
    Wrapper.asked.clear()
    again = copy.deepcopy([w, w])
    assert Wrapper.asked == ["aten.clone.default"] and again[0] is again[1]
    assert type(again[0]) is Wrapper and again[0].elem.tolist() == [1, 1] and again[0].elem is not w.elem
    assert again[0].note == [1] and again[0].note is not w.note  # pyright: ignore[reportAttributeAccessIssue]


def test_a_parameter_of_a_wrapper_keeps_its_flag():
    assert copy.deepcopy(torch.nn.Parameter(Wrapper(torch.ones(2)))).requires_grad


class Foreign(Wrapper):
    def clone(self):
        return torch.ones(2)


class Plain(torch.Tensor):
    pass


def test_a_clone_of_another_class_is_refused():
    with pytest.raises(RuntimeError, match=r"for which cloning returns another instance of the same subclass"):
        copy.deepcopy(Foreign(torch.ones(2)))


class Slotted(torch.Tensor):
    __slots__ = ("elem", "unset")
    elem: torch.Tensor
    note: Any

    @staticmethod
    def __new__(cls, elem):
        made: Any = torch.Tensor._make_subclass(cls, elem.to("meta"))  # pyright: ignore[reportAttributeAccessIssue]
        made.elem = elem
        return made

    def clone(self):
        return type(self)(self.elem.clone())


def test_slots_of_a_subclass_are_copied_and_one_on_meta_is_copied_by_its_clone():
    tensor: Any = Slotted(torch.tensor([1.0, 2.0]))
    tensor.note = [1]
    found = copy.deepcopy(tensor)
    assert type(found) is Slotted and found.elem.tolist() == [1.0, 2.0] and found.elem is not tensor.elem
    assert found.note == [1] and found.note is not tensor.note and not hasattr(found, "unset")
