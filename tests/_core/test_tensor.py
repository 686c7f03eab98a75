"""Tensor as a Python object: its attributes, conversions to Python's types, copies, pickles, containers."""

import copy
import io
import math
import pickle
from typing import Any

import pytest

import torchlike as torch

# ---- attributes


def test_shape_size_dim_and_numel():
    x = torch.zeros(2, 3, 4)
    assert type(x.shape) is torch.Size
    assert x.shape == (2, 3, 4) == x.size()
    assert (x.size(1), x.size(-1), x.dim(), x.ndim, x.ndimension()) == (3, 4, 3, 3, 3)
    assert (x.numel(), x.nelement(), len(x), x.stride(), x.stride(0)) == (24, 24, 2, (12, 4, 1), 12)
    assert (x.element_size(), x.itemsize, x.nbytes) == (4, 4, 96)


def test_size_is_a_tuple_with_methods_of_its_own():
    size = torch.zeros(2, 3, 4).shape
    assert repr(size) == "torch.Size([2, 3, 4])"
    assert type(size[1:]) is torch.Size
    assert type(size + (5,)) is torch.Size  # noqa: RUF005
    assert size + (5,) == (2, 3, 4, 5)  # noqa: RUF005
    assert size.numel() == 24
    assert torch.Size([]).numel() == 1
    assert hash(size) == hash((2, 3, 4))
    assert [*size] == [2, 3, 4]
    assert pickle.loads(pickle.dumps(size)) == size


def test_kind_of_numbers():
    assert torch.ones(1).is_floating_point()
    assert not torch.ones(1, dtype=torch.int64).is_floating_point()
    assert torch.ones(1, dtype=torch.complex64).is_complex()
    assert torch.ones(1, dtype=torch.int8).is_signed()
    assert not torch.ones(1, dtype=torch.uint8).is_signed()


def test_layout_of_views():
    x = torch.ones(3, 4)
    assert (x.T.stride(), x.T.is_contiguous(), x.is_contiguous()) == ((1, 4), False, True)
    assert (x[1:, ::2].stride(), x[1:, ::2].storage_offset()) == ((4, 2), 4)
    assert x[:, 1].data_ptr() - x.data_ptr() == x.element_size()
    assert x.T.T.is_set_to(x)
    assert not x.T.is_set_to(x)
    assert x[0]._base is x
    assert x._base is None
    assert (x.view(-1)._is_view(), x._is_view()) == (True, False)


@pytest.mark.parametrize("name", ["is_cuda", "is_sparse", "is_quantized", "is_meta", "is_mps", "is_nested"])
def test_what_a_cpu_tensor_is_not(name):
    assert getattr(torch.ones(1), name) is False


def test_device_of_a_cpu_tensor():
    x = torch.ones(1)
    assert (x.device, x.is_cpu, x.get_device()) == (torch.device("cpu"), True, -1)


# ---- conversions to Python's types


@pytest.mark.parametrize(
    ("number", "kind"), [(2.5, float), (3, int), (True, bool), (1 + 2j, complex), (2**62 + 1, int), (-0.0, float)]
)
def test_item_gives_pythons_own_number(number, kind):
    for tensor in (torch.tensor(number), torch.tensor([[number]])):
        item = tensor.item()
        assert type(item) is kind
        assert item == number
    assert math.copysign(1, torch.tensor(-0.0).item()) == -1


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float64", "uint8", "int16"])
def test_item_and_tolist_of_other_dtypes(name):
    dtype = getattr(torch, name)
    kind = float if dtype.is_floating_point else int
    x = torch.tensor([[1, 2], [3, 4]], dtype=dtype)
    assert type(x[0, 1].item()) is kind
    assert x.tolist() == [[1, 2], [3, 4]]
    assert type(x.tolist()[0][0]) is kind


def test_tolist_of_empty_and_zero_dim():
    assert torch.zeros(0).tolist() == []
    assert torch.zeros(2, 0).tolist() == [[], []]
    assert torch.tensor(5).tolist() == 5
    assert torch.tensor([1.5], requires_grad=True).tolist() == [1.5]


@pytest.mark.parametrize(("value", "truth"), [(0.0, False), (2.0, True), (float("nan"), True), (0, False), (0j, False)])
def test_truth_of_one_element(value, truth):
    assert bool(torch.tensor(value)) is truth
    assert bool(torch.tensor([[value]])) is truth
    assert ("yes" if torch.tensor(value) else "no") == ("yes" if truth else "no")


def test_numbers_of_one_element():
    assert int(torch.tensor([2.7])) == 2
    assert float(torch.tensor([[3]])) == 3.0
    assert complex(torch.tensor(1.5)) == 1.5 + 0j
    assert float(torch.tensor(2 + 0j)) == 2.0
    assert round(torch.tensor(2.567).item(), 2) == 2.57
    assert math.sqrt(torch.tensor(9.0)) == 3.0
    with pytest.raises(ValueError, match="^cannot convert float NaN to integer$"):
        int(torch.tensor(float("nan")))
    with pytest.raises(OverflowError, match="^cannot convert float infinity to integer$"):
        int(torch.tensor(float("inf")))


def test_index_wherever_python_wants_one():
    two = torch.tensor([2])
    assert [10, 20, 30][two] == 30
    assert list(range(two)) == [0, 1]
    assert "ab" * two == "abab"
    assert (1, 2, 3)[: torch.tensor(1)] == (1,)
    assert ["off", "on"][torch.tensor(True)] == "on"
    assert hex(torch.tensor(255)) == "0xff"


def test_iterating_gives_views_of_the_rows():
    x = torch.tensor([[0, 1], [2, 3], [4, 5]])
    rows = list(x)
    assert [r.tolist() for r in rows] == [[0, 1], [2, 3], [4, 5]]
    assert all(r._base is x for r in rows)
    rows[1][0] = 9
    assert x.tolist() == [[0, 1], [9, 3], [4, 5]]
    a, b = torch.tensor([1.5, 2.5])
    assert (a.item(), b.item()) == (1.5, 2.5)
    assert [*reversed(torch.tensor([1, 2, 3]))] == [3, 2, 1]
    assert [(i, v.item()) for i, v in enumerate(torch.tensor([7, 8]))] == [(0, 7), (1, 8)]


def test_python_functions_over_tensors():
    x = torch.tensor([3, 1, 2])
    total: Any = sum(x)
    assert (max(x).item(), min(x).item(), total.item()) == (3, 1, 6)
    assert [v.item() for v in sorted(x)] == [1, 2, 3]
    assert all(torch.tensor([1, 1]))
    assert not any(torch.tensor([0, 0]))


def test_contains():
    x = torch.tensor([[1, 2], [3, 4]])
    assert 3 in x
    assert 5 not in x
    assert torch.tensor(2) in x
    assert 2.0 in x


def test_a_tensor_is_a_key_by_identity():
    a, b = torch.tensor(1), torch.tensor(1)
    assert hash(a) != hash(b)
    names = {a: "a", b: "b"}
    assert (names[a], names[b]) == ("a", "b")
    a += 1  # whatever its elements are
    assert names[a] == "a"
    assert len({a, b, a.detach()}) == 3


def test_equality_is_by_element():
    x = torch.tensor([1, 2])
    assert (x == x).tolist() == [True, True]
    assert (x == None).__class__ is bool  # noqa: E711 - what a program that forgot `is` sees
    assert (x != "word") is True


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [
        (3.14159, ".2f", "3.14"),
        (3.14159, ">8.3f", "   3.142"),
        (42, "05d", "00042"),
        (0.5, ".0%", "50%"),
        (2.5, "", "2.5"),
    ],
)
def test_format_of_a_zero_dim_tensor_is_the_numbers(value, spec, text):
    assert format(torch.tensor(value), spec) == text
    assert (
        format(torch.tensor(value, dtype=torch.float64) if isinstance(value, float) else torch.tensor(value), spec)
        == text
    )


def test_format_of_tensors_with_dimensions_or_history():
    x = torch.tensor([1.5])
    assert f"{x}" == "tensor([1.5000])"
    with pytest.raises(TypeError, match=r"^unsupported format string passed to Tensor.__format__$"):
        f"{x:.2f}"
    assert f"{torch.tensor(1.5, requires_grad=True):.1f}" == "1.5"
    assert f"{torch.tensor(1.5, requires_grad=True)}" == "1.5"


# ---- printing with history (the numbers are tests/_core/test_printing.py's)


def test_printing_tells_history():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    assert repr(w) == "tensor([1., 2.], requires_grad=True)"
    assert repr(w * 2) == "tensor([2., 4.], grad_fn=<MulBackward0>)"
    assert repr((w * 2)[0]) == "tensor(2., grad_fn=<SelectBackward0>)"
    assert repr(w.double()) == "tensor([1., 2.], dtype=torch.float64, grad_fn=<ToCopyBackward0>)"
    assert repr(w.detach()) == "tensor([1., 2.])"
    with torch.no_grad():
        assert repr(w * 2) == "tensor([2., 4.])"
        assert repr(w) == "tensor([1., 2.], requires_grad=True)"
    assert str(w) == repr(w)


def test_printing_has_no_effect():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = w * 2
    repr(y)
    y.sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]
    assert w._version == 0


# ---- copies


def test_deepcopy_shares_nothing_and_keeps_what_belongs_to_it():
    w: Any = torch.tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()
    w.note = ["mine"]
    other = copy.deepcopy(w)
    assert (other.requires_grad, other.is_leaf, other.grad.tolist(), other.note) == (True, True, [2.0, 4.0], ["mine"])
    with torch.no_grad():
        other.zero_()
        other.grad.zero_()
    other.note.append("yours")
    assert (w.tolist(), w.grad.tolist(), w.note) == ([1.0, 2.0], [2.0, 4.0], ["mine"])


def test_deepcopy_keeps_sharing_within_what_is_copied():
    x = torch.zeros(4)
    both, alike = copy.deepcopy([x, x[:2]]), copy.deepcopy([x, x])
    both[0][0] = 5
    assert both[1].tolist() == [5.0, 0.0]
    assert x.tolist() == [0.0] * 4
    assert alike[0] is alike[1]


def test_deepcopy_of_a_result_is_refused():
    y = torch.ones(1, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="^Only Tensors created explicitly by the user "):
        copy.deepcopy(y)


def test_a_shallow_copy_shares_memory():
    x = torch.zeros(2)
    other = copy.copy(x)
    other[0] = 1
    assert x.tolist() == [1.0, 0.0]
    assert other is not x


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ["float32", "bfloat16", "int64", "bool", "complex64"])
def test_pickling(protocol, name):
    x = torch.tensor([[0, 1], [1, 0]], dtype=getattr(torch, name))
    back = pickle.loads(pickle.dumps(x, protocol))
    assert (back.dtype, back.shape, back.tolist()) == (x.dtype, x.shape, x.tolist())
    assert back is not x


def test_pickling_keeps_requires_grad_and_attributes():
    w: Any = torch.tensor([1.0], requires_grad=True)
    w.note = "mine"
    file = io.BytesIO()
    pickle.dump({"w": w, "row": torch.arange(6).reshape(2, 3)[1]}, file)
    file.seek(0)
    back = pickle.load(file)
    assert (back["w"].requires_grad, back["w"].note, back["row"].tolist()) == (True, "mine", [3, 4, 5])
    back["w"].detach().zero_()
    assert w.item() == 1.0


def test_a_result_is_a_leaf_once_pickled():
    back = pickle.loads(pickle.dumps(torch.ones(1, requires_grad=True) * 2))
    assert (back.tolist(), back.requires_grad, back.is_leaf) == ([2.0], True, True)


# ---- assignment to data


def test_data_is_the_same_memory_without_history():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    w.data.mul_(3)
    assert w.tolist() == [3.0, 6.0]
    assert (w._version, w.data.requires_grad, w.requires_grad) == (0, False, True)


def test_assigning_data_changes_all_but_the_gradient_rules():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    before = id(w)
    fresh = torch.arange(3.0)
    w.data = fresh
    assert (id(w), w.tolist(), w.requires_grad, w.is_leaf) == (before, [0.0, 1.0, 2.0], True, True)
    fresh[0] = 9
    assert w.tolist() == [9.0, 1.0, 2.0]
    (w * 2).sum().backward()
    assert w.grad.tolist() == [2.0] * 3


def test_attributes_may_be_set_on_a_tensor():
    x: Any = torch.ones(1)
    x.name_of_mine = "x"
    assert x.name_of_mine == "x"
    assert not hasattr(x + 1, "name_of_mine")
    for name in ("shape", "dtype", "device", "grad_fn", "is_leaf"):
        with pytest.raises(AttributeError, match="is not writable|no setter|can't set"):
            setattr(x, name, None)


def test_the_dict_of_a_tensor_holds_what_a_program_has_set_and_nothing_else():
    leaf = torch.ones(2, requires_grad=True)
    (leaf * 2).sum().backward()
    made = [
        leaf,
        leaf * 2,
        leaf[:1],
        leaf.detach(),
        torch.nn.Parameter(torch.ones(2)),
        torch.nn.UninitializedParameter(),
    ]
    assert [vars(x) for x in made] == [{}] * 6
    assert vars(torch.nn.Buffer(torch.ones(2))) == {"persistent": True, "_is_buffer": True}


def test_the_dict_of_a_tensor_reads_and_writes_its_attributes():
    x: Any = torch.ones(2)
    seen = x.__dict__
    x.a, x._b = 1, 2
    seen["c"] = 3
    x.__dict__.update(d=4)
    assert isinstance(seen, dict) and seen == {"a": 1, "_b": 2, "c": 3, "d": 4} == dict(seen) == {**seen} == seen.copy()
    assert (x._b, x.c, x.d, len(seen), "a" in seen, "_storage" in seen) == (2, 3, 4, 4, True, False)
    assert list(reversed(seen)) == ["d", "c", "_b", "a"] and repr(seen) == "{'a': 1, '_b': 2, 'c': 3, 'd': 4}"
    assert seen | {"e": 5} == {**seen, "e": 5} == {"e": 5} | seen and seen != {}
    del x.a
    assert seen.pop("c") == 3 and seen == {"_b": 2, "d": 4}
    seen |= {"f": 6}
    assert x.f == 6
    x.__dict__ = {"z": 1}
    assert vars(x) == {"z": 1} and x.tolist() == [1.0, 1.0]
    with pytest.raises(KeyError):
        seen["_storage"]
    with pytest.raises(KeyError):
        del seen["_storage"]
    with pytest.raises(AttributeError):
        seen["_storage"] = None
    with pytest.raises(TypeError, match="__dict__ must be set to a dictionary, not a 'int'"):
        x.__dict__ = 5


def test_attributes_travel_with_copies_whatever_they_are_called():
    x: Any = torch.ones(2)
    x.a, x._b = [1], 2
    for same in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert vars(same) == {"a": [1], "_b": 2}
    assert copy.copy(x).a is x.a and copy.deepcopy(x).a is not x.a
    assert copy.deepcopy(vars(x)) == pickle.loads(pickle.dumps(vars(x))) == {"a": [1], "_b": 2}
    buffer = copy.deepcopy(torch.nn.Buffer(torch.ones(2)))
    assert isinstance(buffer, torch.nn.Buffer)


@pytest.mark.recorded
@pytest.mark.parametrize(("flag", "kind"), [("a", "str"), (1, "int"), (None, "NoneType")])
def test_requires_grad_takes_a_bool_alone(flag, kind):
    x = torch.ones(2)
    with pytest.raises(TypeError) as raised:
        x.requires_grad_(flag)
    assert str(raised.value) == f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {kind}"
    assert not x.requires_grad
