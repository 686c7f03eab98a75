"""Saving and loading: values, identity, shared memory, files of all kinds; a save that fails leaves the old file as it was."""

import collections
import io
import itertools
import os
import pathlib
import pickle
import pickletools
import stat
import zipfile
from typing import Any

import pytest

import torchlike as torch
from tests.serialization.cases import CASES, LEGACY, described, trained
from torchlike import nn


def there_and_back(value, load=None, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return torch.load(file, **(load or {}))


@pytest.mark.parametrize("name", CASES)
def test_what_is_saved_is_loaded(name):
    value = CASES[name](torch)
    assert described(there_and_back(value)) == described(value)


@pytest.mark.parametrize("name", LEGACY)
def test_the_legacy_format_is_written_too(name):
    value = CASES[name](torch)
    assert described(there_and_back(value, _use_new_zipfile_serialization=False)) == described(value)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_is_written(protocol):
    value = CASES["containers"](torch)
    options = {"weights_only": protocol == 2}
    assert described(there_and_back(value, options, pickle_protocol=protocol)) == described(value)


def test_memory_is_shared_again_and_identity_kept():
    one = torch.zeros(2, 3)
    loaded = there_and_back({"one": one, "same": one, "row": one[1], "turned": one.t(), "other": torch.zeros(2, 3)})
    assert loaded["same"] is loaded["one"]
    loaded["row"].fill_(7)
    assert loaded["one"].tolist() == [[0, 0, 0], [7, 7, 7]]
    assert loaded["turned"].tolist() == [[0, 7], [0, 7], [0, 7]]
    assert loaded["other"].sum().item() == 0


def test_a_view_that_comes_first_shares_memory_with_the_whole():
    whole = torch.arange(6.0)
    loaded = there_and_back([whole[2:4], whole.view(2, 3), whole])
    loaded[2].zero_()
    assert [each.tolist() for each in loaded] == [[0, 0], [[0, 0, 0], [0, 0, 0]], [0] * 6]


def test_all_memory_below_a_view_is_saved_once():
    file = io.BytesIO()
    whole = torch.zeros(1000)
    torch.save([whole[:2], whole[5:7]], file)
    with zipfile.ZipFile(file) as archive:
        assert [i.file_size for i in archive.infolist() if i.filename.startswith("archive/data/")] == [4000]


def test_memory_that_numpy_writes_to_is_saved_as_it_is_now():
    tensor = torch.zeros(3)
    tensor.numpy()[1] = 5
    assert there_and_back(tensor).tolist() == [0, 5, 0]


def test_loaded_tensors_are_leaves_that_train():
    parameter = there_and_back(nn.Parameter(torch.ones(2, 3).t()))
    assert parameter.is_leaf
    (parameter * 2).sum().backward()
    assert parameter.grad.tolist() == [[2, 2]] * 3
    with torch.no_grad():
        parameter.mul_(3)
    assert parameter.tolist() == [[3, 3]] * 3


def test_a_result_with_history_is_saved_without_it():
    loaded = there_and_back(torch.ones(2, requires_grad=True) * 2)
    assert loaded.is_leaf
    assert loaded.requires_grad


def test_a_hook_is_not_saved_and_that_is_said():
    tensor = torch.ones(2, requires_grad=True)
    tensor.register_hook(print)
    with pytest.warns(UserWarning, match="backward hook <built-in function print> on tensor will not be serialized"):
        assert there_and_back(tensor).requires_grad


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.again = self.inner
        self.register_buffer("count", torch.zeros(1), persistent=False)
        self.options = {"scale": 2}

    def forward(self, x):
        return self.again(self.inner(x)) * self.options["scale"]


def test_a_whole_module():
    model = Twice()
    loaded = there_and_back(model, {"weights_only": False})
    assert type(loaded) is Twice
    assert loaded.again is loaded.inner
    assert loaded.count.tolist() == [0]
    assert torch.equal(loaded(torch.ones(1, 2)), model(torch.ones(1, 2)))
    loaded(torch.ones(1, 2)).sum().backward()
    assert loaded.inner.weight.grad is not None


def test_a_whole_module_may_be_allowed_by_name():
    model = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
    with torch.serialization.safe_globals([nn.Sequential, nn.Linear, nn.ReLU]):
        loaded = there_and_back(model)
    assert torch.equal(loaded(torch.ones(1, 2)), model(torch.ones(1, 2)))


def test_functions_are_named_as_pytorch_names_them():
    """A layer that keeps its activation function, such as TransformerEncoderLayer, can be loaded without torchlike."""
    file = io.BytesIO()
    torch.save([nn.TransformerEncoderLayer(4, 2, 8), nn.functional.gelu, torch.tanh], file)
    with zipfile.ZipFile(file) as archive:
        named = [arg for code, arg, _ in pickletools.genops(archive.read("archive/data.pkl")) if code.name == "GLOBAL"]
    assert {"torch.nn.functional relu", "torch.nn.functional gelu", "torch tanh"} <= {*named}
    assert not [name for name in named if "torchlike" in str(name)]
    file.seek(0)
    layer, gelu, tanh = torch.load(file, weights_only=False)
    assert layer.activation is nn.functional.relu and gelu is nn.functional.gelu and tanh is torch.tanh


class Tagged(torch.Tensor):
    """A tensor of a user's subclass."""


def test_a_class_of_tensors():
    tensor: Any = Tagged([1.0, 1.0])
    tensor.tag = "mine"
    with torch.serialization.safe_globals([Tagged]):
        loaded = there_and_back(tensor)
    assert type(loaded) is Tagged
    assert vars(loaded)["tag"] == "mine"
    assert loaded.tolist() == [1, 1]


def test_deeply_nested_objects():
    model, depth = nn.Sequential(nn.Linear(1, 1)), 150
    for _ in range(depth):
        model = nn.Sequential(model)
    loaded = there_and_back(model, {"weights_only": False})
    assert len(list(loaded.modules())) == depth + 2


def test_training_goes_on_where_it_stopped():
    (model, optimizer), (other, other_optimizer) = trained(torch), trained(torch)
    saved = there_and_back({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    other.load_state_dict(saved["model"])
    other_optimizer.load_state_dict(saved["optimizer"])
    x = torch.arange(8.0).reshape(4, 2) - 3
    for m, o in ((model, optimizer), (other, other_optimizer)):
        for _ in range(3):
            m(x).square().sum().backward()
            o.step()
            o.zero_grad()
    for mine, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_a_whole_optimizer():
    _, optimizer = trained(torch)
    loaded = there_and_back(optimizer, {"weights_only": False})
    assert described(loaded.state_dict()) == described(optimizer.state_dict())


def test_a_state_dict_keeps_its_metadata():
    state = there_and_back(nn.BatchNorm1d(2).state_dict())
    assert state._metadata[""] == {"version": 2}


# ---- files


@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_paths(tmp_path, kind):
    path = kind(tmp_path / "a model.pt")
    torch.save([torch.ones(2)], path)
    assert torch.load(path)[0].tolist() == [1, 1]
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist()[0] == "a model/data.pkl"
        assert archive.testzip() is None


def test_open_files_are_left_open_and_may_begin_in_the_middle(tmp_path):
    with open(tmp_path / "two.bin", "w+b") as file:
        file.write(b"before")
        torch.save(torch.arange(3), file)
        file.seek(6)
        assert torch.load(file).tolist() == [0, 1, 2]


def test_several_legacy_objects_in_one_file():
    file = io.BytesIO()
    for value in (1, torch.ones(2), "three"):
        torch.save(value, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert [torch.load(file), torch.load(file).tolist(), torch.load(file)] == [1, [1, 1], "three"]


def test_records_begin_where_memory_can_be_mapped(tmp_path):
    path = tmp_path / "x.pt"
    tensors = [torch.arange(n, dtype=torch.float64) + 0.5 for n in (1, 3, 100)]
    torch.save(tensors, path)
    raw = path.read_bytes()
    for tensor in tensors:
        assert raw.find(tensor.numpy().tobytes()) % 64 == 0


def test_a_mapped_file_is_not_written_to(tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.ones(4), path)
    before = path.read_bytes()
    mapped = torch.load(path, mmap=True)
    mapped += 1
    assert mapped.tolist() == [2, 2, 2, 2]
    assert path.read_bytes() == before
    torch.save(torch.zeros(4), path)  # writes over the file that is mapped
    assert mapped.tolist() == [2, 2, 2, 2]


class Breaks:
    def __reduce__(self):
        raise KeyboardInterrupt


def test_a_save_that_breaks_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.pt"
    torch.save("old", path)
    with pytest.raises(KeyboardInterrupt):
        torch.save([torch.ones(5), Breaks()], path)
    assert torch.load(path) == "old"
    assert os.listdir(tmp_path) == ["x.pt"]


@pytest.mark.parametrize("new", [True, False])
def test_a_save_that_breaks_while_writing_leaves_the_old_file(tmp_path, monkeypatch, new):
    path = tmp_path / "x.pt"
    torch.save("old", path)
    real = os.fsync

    def full(number):
        real(number)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        torch.save(torch.ones(5), path, _use_new_zipfile_serialization=new)
    assert torch.load(path) == "old"
    assert os.listdir(tmp_path) == ["x.pt"]


def test_a_new_file_has_the_rights_of_the_old_one_and_goes_where_a_link_leads(tmp_path):
    path, link = tmp_path / "x.pt", tmp_path / "latest.pt"
    torch.save(1, path)
    path.chmod(0o640)
    link.symlink_to(path)
    torch.save(2, link)
    assert link.is_symlink()
    assert torch.load(path) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_pipe_is_written_to_directly():
    torch.save(torch.ones(2), os.devnull)
    assert not os.path.isfile(os.devnull)


class OnlyWrites:
    def __init__(self):
        self.data = b""

    def write(self, data):
        self.data += bytes(data)


def test_a_file_needs_nothing_but_write():
    file = OnlyWrites()
    torch.save(torch.ones(2), file)
    assert torch.load(io.BytesIO(file.data)).tolist() == [1, 1]


def test_errors_of_save(tmp_path):
    with pytest.raises(RuntimeError, match=r"^Parent directory .*nowhere does not exist\.$"):
        torch.save(1, tmp_path / "nowhere" / "x.pt")
    with pytest.raises(IsADirectoryError):
        torch.save(1, tmp_path)
    with pytest.raises(
        AttributeError, match="expected 'f' to be string, path, or a file-like object with a 'write' attribute"
    ):
        torch.save(1, 3)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        torch.save(lambda: 1, io.BytesIO())
    for each in (
        lambda: 1,
        type("Local", (), {"__qualname__": "f.<locals>.Local"})(),
    ):  # the message of Python's own Pickler
        with pytest.raises(Exception) as expected:
            pickle.dumps(each)
        with pytest.raises(expected.type) as caught:
            torch.save(each, io.BytesIO())
        assert str(caught.value).split(" at 0x")[0] == str(expected.value).split(" at 0x")[0]
    x = torch.arange(4.0)
    with pytest.raises(
        RuntimeError, match="Cannot save multiple tensors or storages that view the same data as different types"
    ):
        torch.save([x, x.view(torch.int32)], io.BytesIO())
    with pytest.raises(NotImplementedError, match="pickle_module other than pickle"):
        torch.save(1, io.BytesIO(), pickle_module=collections)


def test_everything_is_read_with_another_unpickler():
    assert there_and_back({1: torch.ones(1)}, {"pickle_module": pickle})[1].tolist() == [1]
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        there_and_back(1, {"pickle_module": pickle, "weights_only": True})


# ---- objects that cannot be saved


def local_class():
    class Local:
        pass

    return Local


@pytest.mark.parametrize("options", [{}, {"pickle_protocol": 4}, {"_use_new_zipfile_serialization": False}])
@pytest.mark.parametrize(
    "make", [lambda: local_class(), lambda: local_class()(), lambda: lambda: 0, lambda: [{"a": local_class()}]]
)
def test_what_is_found_nowhere_is_refused_as_pickle_refuses_it(make, options):
    thing = make()
    with pytest.raises(Exception) as said:
        pickle.dumps(thing)
    with pytest.raises(type(said.value)) as caught:
        torch.save(thing, io.BytesIO(), **options)
    assert str(caught.value) == str(said.value)


def test_attributes_and_hooks_that_are_found_nowhere_are_refused_too():
    x: Any = torch.ones(2)
    x.f = lambda: 0
    layer = torch.nn.Linear(1, 1)
    layer.register_forward_hook(lambda *_: None)
    for thing in (x, layer):
        with pytest.raises((AttributeError, pickle.PicklingError), match=r"local object .*<locals>.<lambda>"):
            torch.save(thing, io.BytesIO())


def test_nodes_are_not_pickled():
    node = (torch.ones(2, requires_grad=True) * 2).grad_fn
    for write in (pickle.dumps, lambda thing: torch.save(thing, io.BytesIO())):
        with pytest.raises(TypeError, match="^cannot pickle 'MulBackward0' object$"):
            write(node)


def test_attributes_are_saved_whatever_they_are_called():
    x: Any = torch.ones(2)
    x._mine, x.too = 1, 2
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    assert vars(torch.load(file)) == {"_mine": 1, "too": 2}


# ---- environment variables


FORCE, FORCE_NOT = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
WARNING = (
    "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was not explicitly passed to "
    "`torch.load`, forcing weights_only=False."
)


class Unsafe:
    pass


def load_unsafe(**options):
    file = io.BytesIO()
    torch.save({"unsafe": Unsafe()}, file)
    file.seek(0)
    return torch.load(file, **options)


@pytest.mark.parametrize("options", [{}, {"weights_only": None}, {"pickle_module": pickle}])
@pytest.mark.parametrize("word", ["1", "y", "yes", "true", "TRUE"])
def test_the_environment_can_switch_weights_only_off(monkeypatch, word, options):
    monkeypatch.setenv(FORCE_NOT, word)
    with pytest.warns(UserWarning, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD") as caught:
        assert isinstance(load_unsafe(**options)["unsafe"], Unsafe)
    assert [str(each.message) for each in caught] == [WARNING]


@pytest.mark.parametrize("word", ["0", "", "on", "no"])
def test_other_words_in_the_environment_say_nothing(monkeypatch, word):
    monkeypatch.setenv(FORCE_NOT, word)
    monkeypatch.setenv(FORCE, word)
    with pytest.raises(pickle.UnpicklingError):
        load_unsafe()
    assert isinstance(load_unsafe(weights_only=False)["unsafe"], Unsafe)


def test_what_the_call_says_counts_more_than_that_it_is_switched_off(monkeypatch):
    monkeypatch.setenv(FORCE_NOT, "1")
    with pytest.raises(pickle.UnpicklingError):
        load_unsafe(weights_only=True)
    assert isinstance(load_unsafe(weights_only=False)["unsafe"], Unsafe)  # and no warning


@pytest.mark.parametrize("word", ["1", "y", "true", "TRUE"])
def test_the_environment_can_force_weights_only(monkeypatch, word):
    monkeypatch.setenv(FORCE, word)
    for options in ({}, {"weights_only": False}):
        with pytest.raises(pickle.UnpicklingError):
            load_unsafe(**options)
    with pytest.raises(RuntimeError, match="^Can not safely load weights when explicit pickle_module is specified$"):
        load_unsafe(pickle_module=pickle, weights_only=False)


def test_the_environment_cannot_say_both(monkeypatch):
    monkeypatch.setenv(FORCE, "1")
    monkeypatch.setenv(FORCE_NOT, "1")
    words = f"^Only one of `{FORCE}` or `{FORCE_NOT}` should be set, but both were set.$"
    with pytest.raises(RuntimeError, match=words):
        load_unsafe(weights_only=True)


def test_which_files_are_of_the_newer_format():
    for newer in (True, False):
        file = io.BytesIO()
        torch.save(torch.ones(2), file, _use_new_zipfile_serialization=newer)
        file.seek(0)
        assert torch.serialization._is_zipfile(file) is newer and file.tell() == 0


class Slotted(torch.Tensor):
    __slots__ = ("note",)
    x: Any


class Own(torch.Tensor):
    x: Any

    def __getstate__(self):
        return "mine", self.__dict__

    def __setstate__(self, state):
        mark, self.__dict__ = state
        self.came = mark


def test_what_a_subclass_keeps_in_slots_or_says_itself_is_saved():
    slotted: Any = torch.ones(2).as_subclass(Slotted)
    own: Any = torch.ones(2).as_subclass(Own)
    slotted.note, slotted.x, own.x = [1], 2, 3
    file = io.BytesIO()
    torch.save([slotted, own], file)
    for options in ({"weights_only": False}, {}):
        file.seek(0)
        with torch.serialization.safe_globals([Slotted, Own]):
            first, second = torch.load(file, **options)  # pyright: ignore[reportArgumentType]
        assert type(first) is Slotted and first.note == [1] and first.x == 2 and first.tolist() == [1.0, 1.0]
        assert type(second) is Own and second.x == 3 and second.came == "mine"


@pytest.mark.parametrize("weights_only", [True, False])
def test_files_of_python_2_with_bytes_for_texts(weights_only):
    file = io.BytesIO()
    torch.save({"a": torch.arange(3.0)}, file, _use_new_zipfile_serialization=False)
    data, old = file.getvalue(), b""
    for _ in range(5):  # its pickles: what kind of file, the object, the storages
        opcodes: list[Any] = list(pickletools.genops(data))
        for (opcode, text, at), (_, _, end) in itertools.pairwise([*opcodes, (None, "", opcodes[-1][2] + 1)]):
            # A text as a str of Python 2.
            old += b"U%c%s" % (len(str(text)), str(text).encode()) if opcode.name == "BINUNICODE" else data[at:end]
        data = data[opcodes[-1][2] + 1 :]
    data = old + data
    found = torch.load(io.BytesIO(data), encoding="bytes", weights_only=weights_only)
    assert list(found) == [b"a"] and found[b"a"].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_an_empty_storage_has_the_type_that_it_was_saved_with(zipped):
    a = torch.tensor([], dtype=torch.int8)
    storage = torch.TypedStorage(wrap_storage=a.storage().untyped(), dtype=torch.float64)
    file = io.BytesIO()
    torch.save([a, storage, a], file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    first, second, third = torch.load(file)
    assert (first.dtype, second.dtype, third.dtype) == (torch.int8, torch.float64, torch.int8)
