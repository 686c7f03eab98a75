"""map_location: the device of loaded tensors, for the device in the file and the caller's wish."""

import io
import zipfile

import pytest

import torchlike as torch


def saved_on(location):
    """Returns a file with a tensor that was saved on another device."""
    file, changed = io.BytesIO(), io.BytesIO()
    torch.save({"a": torch.arange(3.0)}, file)
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("data.pkl"):
                data = data.replace(
                    b"X\x03\x00\x00\x00cpu", b"X" + len(location).to_bytes(4, "little") + location.encode()
                )
            new.writestr(name, data)
    changed.seek(0)
    return changed


@pytest.mark.parametrize(
    "where",
    [
        "cpu",
        torch.device("cpu"),
        {"cuda:0": "cpu"},
        lambda memory, location: memory,
        lambda memory, location: memory.cpu(),
    ],
    ids=["text", "device", "dictionary", "function", "function that moves"],
)
def test_a_file_from_a_gpu_is_read_without_one(where):
    loaded = torch.load(saved_on("cuda:0"), map_location=where)["a"]
    assert loaded.device == torch.device("cpu")
    assert loaded.tolist() == [0, 1, 2]


@pytest.mark.parametrize("where", [None, {"cuda:1": "cpu"}, lambda memory, location: None, "cuda"])
def test_without_a_gpu_there_is_pytorchs_advice(where):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(RuntimeError) as caught:
        torch.load(saved_on("cuda:0"), map_location=where)
    assert str(caught.value) == (
        "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a CPU-only "
        "machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
    )


def test_a_function_sees_memory_and_location():
    seen = []

    def look(memory, location):
        seen.append((memory.nbytes(), len(memory), str(memory.device), location))
        return memory

    torch.load(saved_on("cuda:3"), map_location=look)
    assert seen == [(12, 12, "cpu", "cuda:3")]


def test_tensors_that_share_memory_go_to_one_device_together():
    file = io.BytesIO()
    whole = torch.arange(4.0)
    torch.save([whole, whole[1:3]], file)
    file.seek(0)
    loaded = torch.load(file, map_location="cpu:0")
    assert [str(each.device) for each in loaded] == ["cpu", "cpu"]
    loaded[1].zero_()
    assert loaded[0].tolist() == [0, 0, 0, 3]


def test_locations_that_are_none():
    unknown = r"don't know how to restore data location of torch\.storage\.UntypedStorage \(tagged with foo\)"
    with pytest.raises(RuntimeError, match=unknown):
        torch.load(saved_on("foo"))
    with pytest.raises(RuntimeError, match=unknown):
        torch.load(saved_on("cpu"), map_location="foo")
    with pytest.raises(TypeError, match="'int' object is not callable"):
        torch.load(saved_on("cpu"), map_location=3)


def test_a_file_loaded_onto_the_meta_device_gives_shapes_alone():
    loaded = torch.load(saved_on("cpu"), map_location="meta")
    assert all(tensor.is_meta for tensor in torch.utils._pytree.tree_leaves(loaded))


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: 'nowhere\.pt'"):
        torch.load("nowhere.pt")
    with pytest.raises(AttributeError) as caught:
        torch.load(3)
    assert str(caught.value) == (
        "'int' object has no attribute 'seek'. You can only torch.load from a file that is seekable. Please pre-load the data into a "
        "buffer like io.BytesIO and try to load from it instead."
    )
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        torch.load(saved_on("cpu"), mmap=True)
    legacy = tmp_path / "old.pt"
    torch.save(1, legacy, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match=r"mmap can only be used with files saved with `torch\.save\("):
        torch.load(legacy, mmap=True)
