"""Datasets read from small generated files in their authors' formats."""

import gzip
import pickle
import struct
import sys
import tarfile
from types import ModuleType

import numpy as np
import pytest

import torchlike as torch
from torchlike.vision import datasets
from torchlike.vision.datasets import utils
from torchlike.vision.transforms import ToTensor

pytestmark = pytest.mark.recorded

RNG = np.random.default_rng(0)


@pytest.fixture
def pil():
    return pytest.importorskip("PIL.Image")


def cifar(kind, folder, labels="labels"):
    """Returns a class of the same format as CIFAR, and writes its files with ten pictures each."""
    base = folder / kind.base_folder
    base.mkdir(parents=True)
    pictures = {}

    def written(name, contents):
        (base / name).write_bytes(pickle.dumps(contents, protocol=2))
        return [name, utils.calculate_md5(base / name)]

    lists = {}
    for part in ("train_list", "test_list"):
        lists[part] = []
        for name, _ in getattr(kind, part):
            pictures[name] = RNG.integers(0, 256, (10, 3072), np.uint8)
            lists[part].append(written(name, {"data": pictures[name], labels: list(range(10))}))
    name, md5 = written(kind.meta["filename"], {kind.meta["key"]: [f"class {n}" for n in range(10)]})
    return type(kind.__name__, (kind,), {**lists, "meta": {**kind.meta, "md5": md5}}), pictures


def test_cifar10(tmp_path, pil):
    kind, pictures = cifar(datasets.CIFAR10, tmp_path)
    train, test = kind(tmp_path), kind(str(tmp_path), train=False, transform=ToTensor())
    assert (len(train), len(test)) == (50, 10)
    assert train.classes[3] == "class 3" and train.class_to_idx["class 3"] == 3
    image, target = train[12]
    wanted = pictures["data_batch_2"][2].reshape(3, 32, 32).transpose(1, 2, 0)
    assert target == 2 and np.array_equal(np.asarray(image), wanted)
    tensor, _ = test[4]
    assert tensor.tolist() == (pictures["test_batch"][4].reshape(3, 32, 32) / np.float32(255)).tolist()
    assert repr(train).splitlines()[:3] == [
        "Dataset CIFAR10",
        "    Number of datapoints: 50",
        f"    Root location: {tmp_path}",
    ]
    batch, labels = next(iter(torch.utils.data.DataLoader(test, batch_size=4)))
    assert batch.shape == (4, 3, 32, 32) and labels.tolist() == [0, 1, 2, 3]


def test_cifar100_has_fine_labels(tmp_path):
    kind, _ = cifar(datasets.CIFAR100, tmp_path, "fine_labels")
    assert kind(tmp_path, target_transform=lambda label: -label, transform=ToTensor())[7][1] == -7


def test_damaged_and_missing_files_are_refused(tmp_path):
    words = "Dataset not found or corrupted. You can use download=True to download it"
    with pytest.raises(RuntimeError, match=words):
        datasets.CIFAR10(tmp_path / "nowhere")
    kind, _ = cifar(datasets.CIFAR10, tmp_path)
    (tmp_path / kind.base_folder / kind.meta["filename"]).write_bytes(b"x")
    with pytest.raises(RuntimeError, match="Dataset metadata file not found or corrupted"):
        kind(tmp_path)
    (tmp_path / kind.base_folder / "test_batch").write_bytes(b"x")
    with pytest.raises(RuntimeError, match=words):
        kind(tmp_path)


def test_an_archive_is_fetched_and_unpacked(tmp_path):
    kind, _ = cifar(datasets.CIFAR10, tmp_path / "made")
    archive = tmp_path / "archive.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(tmp_path / "made" / kind.base_folder, kind.base_folder)
    kind.url, kind.tgz_md5 = archive.as_uri(), utils.calculate_md5(archive)
    assert len(kind(tmp_path / "here", download=True, transform=ToTensor())) == 50
    assert (tmp_path / "here" / kind.filename).is_file()
    kind.tgz_md5 = "0" * 32
    with pytest.raises(RuntimeError, match="File not found or corrupted."):
        kind(tmp_path / "there", download=True)


def test_svhn(tmp_path, monkeypatch):
    io = pytest.importorskip("scipy.io")
    pictures, labels = RNG.integers(0, 256, (32, 32, 3, 5), np.uint8), np.array([[1], [10], [3], [9], [10]], np.uint8)
    io.savemat(tmp_path / "test_32x32.mat", {"X": pictures, "y": labels})
    url, name, _ = datasets.SVHN.split_list["test"]
    monkeypatch.setitem(datasets.SVHN.split_list, "test", [url, name, utils.calculate_md5(tmp_path / name)])
    data = datasets.SVHN(tmp_path, "test", transform=ToTensor())
    assert [data[number][1] for number in range(len(data))] == [1, 0, 3, 9, 0]
    assert data[2][0].tolist() == (pictures[..., 2].transpose(2, 0, 1) / np.float32(255)).tolist()
    assert data.data.shape == (5, 3, 32, 32) and data.extra_repr() == "Split: test"
    with pytest.raises(
        ValueError, match=r"Unknown value 'all' for argument split. Valid values are \{'train', 'test', 'extra'\}."
    ):
        datasets.SVHN(tmp_path, "all")


def test_stl10(tmp_path):
    folder = tmp_path / datasets.STL10.base_folder
    folder.mkdir()
    sizes = {"train_X.bin": 6, "unlabeled_X.bin": 3, "test_X.bin": 2}
    pictures = {name: RNG.integers(0, 256, (count, 3, 96, 96), np.uint8) for name, count in sizes.items()}
    for name, array in pictures.items():
        array.transpose(0, 1, 3, 2).tofile(folder / name)
    np.arange(1, 7, dtype=np.uint8).tofile(folder / "train_y.bin")
    np.array([10, 4], np.uint8).tofile(folder / "test_y.bin")
    (folder / "class_names.txt").write_text("airplane\nbird\n")
    (folder / "fold_indices.txt").write_text("0 1 \n5 2 \n")
    lists = {
        part: [[name, utils.calculate_md5(folder / name)] for name, _ in getattr(datasets.STL10, part)]
        for part in ("train_list", "test_list")
    }
    kind = type("STL10", (datasets.STL10,), lists)
    train = kind(tmp_path, transform=ToTensor())
    assert [train[number][1] for number in range(6)] == [0, 1, 2, 3, 4, 5] and train.classes == ["airplane", "bird"]
    assert train[1][0].tolist() == (pictures["train_X.bin"][1] / np.float32(255)).tolist()
    assert kind(tmp_path, folds=1).labels.tolist() == [5, 2]
    assert kind(tmp_path, "test").labels.tolist() == [9, 3]
    assert kind(tmp_path, "unlabeled").labels.tolist() == [-1] * 3
    assert len(kind(tmp_path, "train+unlabeled")) == 9
    with pytest.raises(ValueError, match=r"Value for argument folds should be in the range \[0, 10\), but got 10."):
        kind(tmp_path, folds=10)


def test_emnist(tmp_path):
    raw = tmp_path / "EMNIST" / "raw"
    raw.mkdir(parents=True)
    images = RNG.integers(0, 256, (4, 28, 28), np.uint8)
    head = struct.pack(">4I", 0x0803, 4, 28, 28)
    (raw / "emnist-letters-test-images-idx3-ubyte").write_bytes(head + images.tobytes())
    labels = struct.pack(">2I", 0x0801, 4) + bytes([1, 26, 3, 5])
    (raw / "emnist-letters-test-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    data = datasets.EMNIST(tmp_path, "letters", train=False, transform=ToTensor(), download=True)
    assert [data.classes[target] for target in data.targets.tolist()] == ["a", "z", "c", "e"]
    assert data[1][0].tolist() == (images[1][None] / np.float32(255)).tolist()
    assert len(datasets.EMNIST.classes_split_dict["balanced"]) == 47
    with pytest.raises(ValueError, match="Unknown value 'all' for argument split"):
        datasets.EMNIST(tmp_path, "all")


def test_image_folder(tmp_path, pil):
    for name, colour in (
        ("cat/1.png", "red"),
        ("cat/more/2.PNG", "lime"),
        ("dog/3.jpg", "blue"),
        ("dog/notes.txt", ""),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if colour:
            pil.new("RGB", (4, 3), colour).save(tmp_path / name)
        else:
            (tmp_path / name).write_text("no picture")
    data = datasets.ImageFolder(tmp_path)
    assert data.classes == ["cat", "dog"] and data.class_to_idx == {"cat": 0, "dog": 1}
    assert data.targets == [0, 0, 1] and data.imgs == data.samples
    image, target = data[1]
    assert image.getpixel((0, 0)) == (0, 255, 0) and target == 0
    texts = datasets.DatasetFolder(tmp_path, len, is_valid_file=lambda path: path.endswith(".txt"), allow_empty=True)
    assert [target for _, target in texts] == [1]
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        FileNotFoundError, match="Found no valid file for the classes empty. Supported extensions are: .jpg, .jpeg"
    ):
        datasets.ImageFolder(tmp_path)
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder in"):
        datasets.ImageFolder(tmp_path / "empty")
    with pytest.raises(
        ValueError, match="Both extensions and is_valid_file cannot be None or not None at the same time"
    ):
        datasets.DatasetFolder(tmp_path, len)


def test_fake_data(pil):
    data = datasets.FakeData(3, (3, 4, 5), 7, random_offset=2, transform=ToTensor())
    torch.manual_seed(5)
    state = torch.get_rng_state()
    image, target = data[1]
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(3)
    noise = torch.randn(3, 4, 5).numpy()
    assert target == torch.randint(0, 7, (1,)).item()
    bytes_ = (noise * np.float32(255)).astype(np.uint8)
    assert image.tolist() == (bytes_ / np.float32(255)).tolist()
    assert len([data[number] for number in range(3)]) == 3


def test_tensorflow_datasets(monkeypatch, pil):
    calls, fake = [], ModuleType("tensorflow_datasets")
    pictures = RNG.integers(0, 256, (2, 4, 5, 1), np.uint8)

    def data_source(*args, **options):
        calls.append((args, options))
        return [{"image": picture, "label": number} for number, picture in enumerate(pictures)]

    fake.data_source = data_source  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", fake)
    data = datasets.TensorflowDataset("mnist", "test", download=True)
    assert calls == [(("mnist",), {"split": "test", "data_dir": None, "download": True})]
    image, target = data[1]
    assert np.array_equal(np.asarray(image), pictures[1, :, :, 0]) and target == 1
    assert datasets.TensorflowDataset("mnist", transform=ToTensor())[0][0].shape == (1, 4, 5)
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(ImportError, match="needs tensorflow-datasets"):
        datasets.TensorflowDataset("mnist")
