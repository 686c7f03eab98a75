"""safetensors files: every dtype, tied weights, and the library's messages for tensors that cannot be saved as they are."""

import json
import os
import re

import pytest

import torchlike as torch
from tests.serialization.cases import DTYPES, described
from torchlike import nn

library = pytest.importorskip("safetensors")
files = pytest.importorskip("torchlike.safetensors")


def test_every_dtype_comes_back():
    tensors = {n: torch.tensor([[0, 1], [1, 0]]).to(getattr(torch, n)) for n in DTYPES if n != "complex128"}
    tensors |= {"number": torch.tensor(2.5), "nothing": torch.zeros(0, 3)}
    loaded = files.load(files.save(tensors))
    assert {name: described(loaded[name]) for name in tensors} == {
        name: described(each) for name, each in tensors.items()
    }


def test_files_and_metadata(tmp_path):
    path = tmp_path / "x.safetensors"
    files.save_file({"a": torch.arange(3)}, path, {"step": "5"})
    loaded = files.load_file(path)
    assert loaded["a"].tolist() == [0, 1, 2]
    with library.safe_open(str(path), "np") as file:
        assert file.metadata() == {"step": "5"}
    assert os.listdir(tmp_path) == ["x.safetensors"]


def test_a_save_that_breaks_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.safetensors"
    files.save_file({"a": torch.ones(1)}, path)
    with pytest.raises(TypeError):
        files.save_file({"a": torch.zeros(1)}, path, {"step": 5})
    assert files.load_file(path)["a"].tolist() == [1]
    assert os.listdir(tmp_path) == ["x.safetensors"]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(2, 2)
        self.leave = nn.Linear(2, 2)
        self.leave.weight = self.enter.weight


def test_tied_weights_are_saved_once_and_stay_tied(tmp_path):
    path = tmp_path / "x.safetensors"
    model, other = Tied(), Tied()
    files.save_model(model, path)
    assert sorted(files.load_file(path)) == ["enter.bias", "enter.weight", "leave.bias"]
    raw = path.read_bytes()
    head = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert head["__metadata__"] == {"leave.weight": "enter.weight"}
    assert files.load_model(other, path) == (set(), [])
    assert other.leave.weight is other.enter.weight
    assert torch.equal(other.leave.weight, model.enter.weight)


def test_names_that_do_not_fit(tmp_path):
    path = tmp_path / "x.safetensors"
    files.save_model(Tied(), path)
    with pytest.raises(RuntimeError) as caught:
        files.load_model(nn.Linear(2, 2), path)
    assert str(caught.value) == (
        'Error(s) in loading state_dict for Linear:\n    Missing key(s) in state_dict: "bias", "weight"\n    Unexpected key(s) in '
        'state_dict: "enter.bias", "enter.weight", "leave.bias"'
    )
    missing, unexpected = files.load_model(nn.Linear(2, 2), path, strict=False)
    assert missing == {"bias", "weight"}
    assert sorted(unexpected) == ["enter.bias", "enter.weight", "leave.bias"]


@pytest.mark.parametrize(
    ("tensors", "error", "message"),
    [
        ([1], ValueError, "Expected a dict of [str, torch.Tensor] but received <class 'list'>"),
        ({"a": 3}, ValueError, "Key `a` is invalid, expected torch.Tensor but received <class 'int'>"),
        (
            {"a": torch.ones(2, 3).t()},
            ValueError,
            "You are trying to save a non contiguous tensor: `a` which is not allowed. It either means you are trying to save tensors "
            "which are reference of each other in which case it's recommended to save only the full tensors, and reslice at load time, "
            "or simply call `.contiguous()` on your tensor to pack it before saving.",
        ),
    ],
)
def test_what_cannot_be_saved(tensors, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        files.save(tensors)


def test_shared_memory_is_refused():
    x = torch.ones(4)
    with pytest.raises(RuntimeError, match="Some tensors share memory"):
        files.save({"a": x, "b": x[:2]})
    model = nn.Module()
    model.a, model.b = nn.Parameter(x[:2]), nn.Parameter(x[1:])
    with pytest.raises(RuntimeError, match="None is covering the entire storage"):
        files.save_model(model, "never written")


def test_a_parameter_that_is_a_view(tmp_path):
    path = tmp_path / "x.safetensors"
    model = nn.Module()
    model.a = nn.Parameter(torch.arange(6.0).reshape(2, 3).t())
    files.save_model(model, path)
    assert files.load_file(path)["a"].tolist() == model.a.tolist()
    with pytest.raises(ValueError, match=r"Or use save_model\(\.\.\., force_contiguous=True\)"):
        files.save_model(model, path, force_contiguous=False)


@pytest.mark.parametrize("data", [b"", b"x" * 50, files.save({"a": torch.ones(2)})[:-1]])
def test_what_is_no_such_file(data):
    with pytest.raises(library.SafetensorError):
        files.load(data)
