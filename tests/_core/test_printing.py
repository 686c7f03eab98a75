"""The printed text of tensors equals PyTorch's recorded text; printing options; the cost of printing."""

import re

import ml_dtypes
import numpy as np
import pytest

from tests.conftest import read_golden
from torchlike._core.printing import (
    format_item,
    format_tensor,
    get_printoptions,
    printoptions,
    set_printoptions,
)

DEFAULTS = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
ROWS = read_golden("printing")["cases"]  # `tests/_core/printed.py` makes them


@pytest.fixture(autouse=True)
def default_options():
    set_printoptions(profile="default")
    yield
    set_printoptions(profile="default")


def array_of(case) -> np.ndarray:
    dtype = np.dtype(ml_dtypes.bfloat16 if case["dtype_name"] == "bfloat16" else case["dtype_name"])
    values = case["values"]
    if values == "quarters":
        values = np.arange(np.prod(case["shape"])) / 4
    elif dtype.kind == "c":
        values = [complex(*pair) for pair in values]
    return np.array(values, dtype).reshape(case["shape"])


@pytest.mark.parametrize("index", range(len(ROWS)), ids=[f"{row['dtype_name']}-{row['shape']}" for row in ROWS])
def test_text_is_pytorchs(golden, index):
    case = golden("printing")["cases"][index]
    with printoptions(**case.get("options", {})):
        text = format_tensor(array_of(case), dtype_name=case["dtype_name"], **case.get("facts", {}))
    assert text == case["text"]


def test_device_comes_first():
    facts = {"device": "cuda:0", "dtype_name": "float64", "requires_grad": True}
    assert format_tensor(np.ones(1), **facts) == (
        "tensor([1.], device='cuda:0', dtype=torch.float64, requires_grad=True)"
    )
    assert format_tensor(np.ones((0, 2)), **facts) == (
        "tensor([], device='cuda:0', size=(0, 2), dtype=torch.float64,\n       requires_grad=True)"
    )


def test_prefix_sets_the_indent():
    rows = np.ones((2, 1), np.float32)
    assert format_tensor(rows, dtype_name="float32", prefix="Mine(") == "Mine([[1.],\n      [1.]])"
    assert format_tensor(rows, dtype_name="float32", prefix="Mine(", indent=1) == "Mine([[1.],\n  [1.]])"


def test_parameter_of_a_subclass_is_wrapped_twice():
    text = format_tensor(np.ones(1, np.float32), dtype_name="float32", prefix="Mine(", parameter=True)
    assert text == "Parameter containing:\nParameter(Mine([1.]))"


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_order_does_not_matter(order):
    array = np.array([[1, 2], [3, 4]], order=order)
    assert format_tensor(array, dtype_name="int64") == "tensor([[1, 2],\n        [3, 4]])"


def test_a_summary_reads_its_ends_alone():
    # 10**12 elements: a function that reads them all would not end.
    huge = np.broadcast_to(np.float32(0.5), (10**6, 10**6))
    row = "[0.5000, 0.5000, 0.5000,  ..., 0.5000, 0.5000, 0.5000]"
    rows = [row, row, row, "...", row, row, row]
    assert format_tensor(huge, dtype_name="float32") == "tensor([" + ",\n        ".join(rows) + "])"


@pytest.mark.parametrize(
    ("calls", "changed"),
    [
        ([{}], {}),
        ([{"precision": 2, "threshold": 5}], {"precision": 2, "threshold": 5}),
        ([{"profile": "short"}], {"precision": 2, "edgeitems": 2}),
        ([{"profile": "full"}], {"threshold": float("inf")}),
        ([{"profile": "short", "precision": 7}], {"precision": 7, "edgeitems": 2}),
        ([{"profile": "full"}, {"profile": "unknown"}], {"threshold": float("inf")}),
        ([{"sci_mode": True}], {"sci_mode": True}),
        ([{"sci_mode": True, "linewidth": 9}, {"edgeitems": 1}], {"linewidth": 9, "edgeitems": 1}),
        ([{"precision": 2, "linewidth": 9}, {"profile": "default"}], {}),
    ],
)
def test_setting_options(calls, changed):
    for call in calls:
        set_printoptions(**call)
    assert get_printoptions() == DEFAULTS | changed


def test_options_come_back_after_a_block_and_after_an_error_in_it():
    set_printoptions(precision=2, sci_mode=True)
    before = get_printoptions()
    with printoptions(profile="full"):
        assert get_printoptions() == DEFAULTS | {"threshold": float("inf")}
    assert get_printoptions() == before
    with pytest.raises(KeyError, match="inside"), printoptions(edgeitems=1):
        raise KeyError("inside")
    assert get_printoptions() == before


def test_unknown_option():
    with pytest.raises(TypeError, match=re.escape("set_printoptions() got an unexpected keyword argument 'digits'")):
        set_printoptions(digits=3)  # pyright: ignore[reportCallIssue]


class Tensor:
    """Has the attributes that `format_item` reads."""

    def __init__(self, value):
        self.value = np.array(value)

    def dim(self):
        return self.value.ndim

    def item(self):
        return self.value.item()

    def __repr__(self):
        return "the repr"


@pytest.mark.parametrize(
    ("value", "spec", "expected"),
    [
        (1.5, "", "1.5"),
        (1.5, ".3f", "1.500"),
        (3, "05d", "00003"),
        (3, ".1f", "3.0"),
        (1 + 2j, ".2f", "1.00+2.00j"),
        (True, "", "True"),
        ([1.5], "", "the repr"),
    ],
)
def test_format_item(value, spec, expected):
    assert format_item(Tensor(value), spec) == expected


def test_format_item_errors():
    refused = re.escape("unsupported format string passed to Tensor.__format__")
    with pytest.raises(TypeError, match=refused):
        format_item(Tensor([1.5]), ".3f")
    with pytest.raises(TypeError, match=refused):
        format_item(Tensor(1.5), ".3f", plain=False)
    with pytest.raises(ValueError, match="Unknown format code 'd' for object of type 'float'"):
        format_item(Tensor(1.5), "d")


def test_format_item_of_a_subclass_without_a_specification_is_the_text():
    assert format_item(Tensor(1.5), "", plain=False) == "the repr"
