"""MNIST and related datasets: IDX files, damaged files, samples, the fast path of DataLoader, the sample in the package."""

import gzip
import lzma
import pickle
import struct
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import torchlike as torch
from torchlike.utils.data import DataLoader, Subset
from torchlike.vision.datasets import KMNIST, MNIST, FashionMNIST, VisionDataset
from torchlike.vision.datasets.idx import BY_COLUMNS_AND_LABELS, read_idx
from torchlike.vision.transforms import Compose, Lambda, Normalize, ToTensor

pytestmark = pytest.mark.recorded

IMAGES = np.arange(7 * 28 * 28, dtype=np.uint32).reshape(7, 28, 28).astype(np.uint8)
LABELS = np.array([3, 0, 9, 1, 1, 5, 7], np.uint8)


def idx(array, code=8):
    big_endian = array.astype(array.dtype.newbyteorder(">"))
    return struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape) + big_endian.tobytes()


PACK: dict[str, Any] = {".gz": gzip.compress, ".xz": lzma.compress}


def write(root, name="FashionMNIST", images: Any = IMAGES, labels: Any = LABELS, parts=("train", "t10k"), packed=""):
    raw = root / name / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    for part in parts:
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            content = array if isinstance(array, bytes) else idx(array)
            path = raw / f"{part}-{kind}-ubyte"
            if packed:
                path.with_name(f"{path.name}{packed}").write_bytes(PACK[packed](content))
            else:
                path.write_bytes(content)
    return str(root)


@pytest.mark.parametrize("cls", [MNIST, FashionMNIST, KMNIST])
@pytest.mark.parametrize("packed", ["", *PACK])
def test_reads_a_root(tmp_path, cls, packed):
    data = cls(write(tmp_path, cls.__name__, packed=packed), train=False)
    assert len(data) == 7
    assert data.data.shape == (7, 28, 28)
    assert data.data.dtype == torch.uint8
    assert data.targets.dtype == torch.int64
    assert data.targets.tolist() == LABELS.tolist()
    assert data.data.tolist() == IMAGES.tolist()
    assert len(data.classes) == 10
    assert data.class_to_idx[data.classes[4]] == 4
    assert data.raw_folder == str(tmp_path / cls.__name__ / "raw")


def test_pictures_may_lie_column_by_column(tmp_path):
    for part in ("train", "t10k"):
        write(tmp_path, packed=".xz", parts=(part,))
        path = tmp_path / "FashionMNIST" / "raw" / f"{part}-images-idx3-ubyte"
        path.with_name(f"{path.name}.xz").unlink()
        ordered = IMAGES[np.argsort(LABELS, kind="stable")].swapaxes(1, 2)
        packed = path.with_name(f"{path.name}{BY_COLUMNS_AND_LABELS}")
        packed.write_bytes(lzma.compress(idx(ordered)))
        data = FashionMNIST(str(tmp_path), train=part == "train")
        assert data.data.tolist() == IMAGES.tolist() and data.data.is_contiguous()
        packed.with_name(f"{part}-labels-idx1-ubyte.xz").unlink()
        with pytest.raises(RuntimeError, match="wanted the labels"):
            read_idx(packed)


def test_the_plain_file_goes_before_the_packed_one(tmp_path):
    write(tmp_path, packed=".gz", labels=np.zeros(7, np.uint8))
    assert FashionMNIST(write(tmp_path)).targets.tolist() == LABELS.tolist()


def test_only_the_files_of_the_wanted_part_are_needed(tmp_path):
    root = write(tmp_path, parts=("t10k",))
    assert len(FashionMNIST(root, train=False)) == 7
    with pytest.raises(RuntimeError) as error:
        FashionMNIST(root)
    wanted = tmp_path / "FashionMNIST" / "raw" / "train-images-idx3-ubyte"
    assert str(error.value) == (
        f"Dataset not found. You can use download=True to download it\nWanted: {wanted} (or train-images-idx3-ubyte.gz)"
    )


WHOLE = idx(IMAGES)
DAMAGED = {
    "empty": (b"", "an IDX file (two zero bytes, a type, a number of dimensions), got b'' at its start"),
    "other file": (b"<html>not found</html>", "a number of dimensions), got b'<htm' at its start"),
    "unknown type": (struct.pack(">HBBI", 0, 7, 1, 3) + b"abc", "got b'\\x00\\x00\\x07\\x01' at its start"),
    "sizes cut": (WHOLE[:9], "wanted the sizes of 3 dimensions, got only 5 bytes of them"),
    "cut": (WHOLE[:-3], "wanted 7 x 28 x 28 elements of uint8, 5488 bytes after the header, got 5485"),
    "too long": (WHOLE + b"x", "5488 bytes after the header, got"),
    "huge": (
        struct.pack(">HBB3I", 0, 8, 3, 4000000000, 4000000000, 4000000000),
        "4000000000 x 4000000000 x 4000000000",
    ),
}


@pytest.mark.parametrize("packed", ["", *PACK])
@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_file_is_named_with_what_was_wanted(tmp_path, kind, packed):
    content, told = DAMAGED[kind]
    root = write(tmp_path, images=content, packed=packed)
    with pytest.raises(RuntimeError) as error:
        FashionMNIST(root)
    text = str(error.value)
    assert text.startswith(str(tmp_path / "FashionMNIST" / "raw" / "train-images-idx3-ubyte"))
    assert told in text
    assert "download=True" in text


@pytest.mark.parametrize("spoil", [lambda b: b[:-20], lambda b: b[:30] + b"\xff\xff" + b[32:], lambda b: b"PK" + b[2:]])
@pytest.mark.parametrize(("packed", "kind"), [(".gz", "gzip"), (".xz", "xz")])
def test_a_damaged_packed_file_is_named(tmp_path, spoil, packed, kind):
    root = write(tmp_path, images=np.random.default_rng(0).integers(0, 256, (7, 28, 28), np.uint8), packed=packed)
    path = tmp_path / "FashionMNIST" / "raw" / f"train-images-idx3-ubyte{packed}"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(
        RuntimeError, match=f"is damaged: wanted a whole {kind} file, got one that cannot be unpacked"
    ) as error:
        FashionMNIST(root)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"labels": LABELS[:5]}, "wanted 7 uint8 labels, one for each image, got shape (5,) of uint8"),
        ({"labels": LABELS + 1}, "wanted labels below 10, got 10"),
        ({"images": IMAGES[0]}, "wanted uint8 images of 3 dimensions, got 2 of uint8"),
    ],
)
def test_files_that_do_not_go_together(tmp_path, options, told):
    with pytest.raises(RuntimeError) as error:
        FashionMNIST(write(tmp_path, **options))
    assert told in str(error.value)
    assert str(tmp_path) in str(error.value)


@pytest.mark.parametrize(
    ("dtype", "code"), [(np.uint8, 8), (np.int8, 9), (np.int16, 11), (np.int32, 12), (np.float32, 13), (np.float64, 14)]
)
def test_idx_holds_six_types(tmp_path, dtype, code):
    array = np.array([[1, 2, 3], [4, 5, 100]], dtype)
    (tmp_path / "file").write_bytes(idx(array, code))
    read = read_idx(tmp_path / "file")
    assert read.dtype == array.dtype
    assert read.dtype.isnative
    assert read.tolist() == array.tolist()


def test_samples(tmp_path):
    root = write(tmp_path)
    image, label = FashionMNIST(root, transform=ToTensor())[2]
    assert image.shape == (1, 28, 28)
    assert image.dtype == torch.float32
    assert image.tolist() == [(IMAGES[2].astype(np.float32) / np.float32(255)).tolist()]
    assert label == 9
    assert type(label) is int
    data = FashionMNIST(root, transform=ToTensor(), target_transform=lambda label: -label)
    assert data[-1][1] == -7
    assert [label for _, label in data] == [-3, 0, -9, -1, -1, -5, -7]


@pytest.mark.parametrize("index", [7, -8])
def test_an_index_out_of_range(tmp_path, index):
    data = FashionMNIST(write(tmp_path), transform=ToTensor())
    told = f"index {index} is out of bounds for dimension 0 with size 7"
    with pytest.raises(IndexError, match=told):
        data[index]
    with pytest.raises(IndexError, match=told):
        next(iter(DataLoader(data, batch_sampler=[[0, index]])))


def test_a_sample_without_transform_is_an_image(tmp_path):
    image_class = pytest.importorskip("PIL.Image").Image
    data = FashionMNIST(write(tmp_path), transform=Lambda(lambda image: image))
    image, _ = data[1]
    assert isinstance(image, image_class)
    assert image.mode == "L"
    assert image.size == (28, 28)
    assert np.array_equal(np.asarray(image), IMAGES[1])
    assert ToTensor()(image).tolist() == FashionMNIST(data.root, transform=ToTensor())[1][0].tolist()


def test_pillow_is_only_needed_for_an_image(tmp_path, monkeypatch):
    root = write(tmp_path)
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert len(next(iter(DataLoader(FashionMNIST(root, transform=ToTensor()), 4)))) == 2
    assert FashionMNIST(root, transform=Compose([ToTensor(), Lambda(lambda x: x)]))[0][0].shape == (1, 28, 28)
    with pytest.raises(ImportError, match="Pillow is not installed"):
        FashionMNIST(root)[0]


class Doubled(ToTensor):
    def __call__(self, pic):
        return super().__call__(pic) * 2


class Relabelled(FashionMNIST):
    def __getitem__(self, index):
        image, label = super().__getitem__(index)
        return image, label + 100


def one_by_one(data, indices):
    images, labels = zip(*(data[index] for index in indices), strict=True)
    return [[image.tolist() for image in images], list(labels)]


@pytest.mark.parametrize("packing", ["whole", "subset"])
@pytest.mark.parametrize(
    "transform",
    [
        ToTensor(),
        Compose([ToTensor()]),
        Compose([ToTensor(), Normalize((0.1307,), (0.3081,))]),
        Compose([ToTensor(), Normalize(0.5, 0.5), Lambda(lambda x: -x)]),
        Doubled(),
    ],
    ids=["ToTensor", "composed", "normalized", "with a function", "of ones own"],
)
def test_a_batch_is_what_its_samples_are(tmp_path, transform, packing):
    if type(transform) is Doubled:
        pytest.importorskip("PIL")  # a changed ToTensor gets an image, as in torchvision
    data = FashionMNIST(write(tmp_path / "FashionMNIST"), transform=transform)
    if packing == "subset":
        data = Subset(data, [6, 5, 0, 1])
    images, labels = next(iter(DataLoader(data, sampler=[3, 0, -1], batch_size=3)))
    assert [images.tolist(), labels.tolist()] == one_by_one(data, [3, 0, -1])
    assert images.dtype == torch.float32
    assert labels.dtype == torch.int64


def test_a_batch_sees_what_a_program_changed(tmp_path):
    write(tmp_path, "Relabelled")
    assert next(iter(DataLoader(Relabelled(str(tmp_path), transform=ToTensor()), 3)))[1].tolist() == [103, 100, 109]
    data: Any = FashionMNIST(write(tmp_path), transform=ToTensor())
    loader = DataLoader(data, 2)
    data.targets = torch.tensor([4, 4, 4, 4, 4, 4, 4])
    data.data = torch.tensor(np.zeros((7, 28, 28), np.uint8).tolist(), dtype=torch.uint8)
    images, labels = next(iter(loader))
    assert labels.tolist() == [4, 4]
    assert not np.array(images.tolist()).any()
    data.targets = [1, 2, 3, 4, 5, 6, 7]
    assert next(iter(loader))[1].tolist() == [1, 2]


def test_printed_form(tmp_path):
    root = write(tmp_path)
    assert repr(FashionMNIST(root)) == (
        f"Dataset FashionMNIST\n    Number of datapoints: 7\n    Root location: {root}\n    Split: Train"
    )
    data = FashionMNIST(
        root, train=False, transform=Compose([ToTensor(), Normalize(0.5, 0.5)]), target_transform=ToTensor()
    )
    assert repr(data).splitlines()[3:] == [
        "    Split: Test",
        "    StandardTransform",
        "Transform: Compose(",
        "               ToTensor()",
        "               Normalize(mean=0.5, std=0.5)",
        "           )",
        "Target transform: ToTensor()",
    ]


def test_either_transforms_or_one_of_each():
    with pytest.raises(ValueError, match=r"^Only transforms or transform/target_transform can be passed as argument$"):
        VisionDataset("root", transforms=lambda x, y: (x, y), transform=ToTensor())


def test_a_dataset_can_be_pickled(tmp_path):
    data = pickle.loads(pickle.dumps(FashionMNIST(write(tmp_path), transform=ToTensor())))
    assert data[3][1] == 1
    assert data.targets.tolist() == LABELS.tolist()


@pytest.mark.parametrize(("train", "count"), [(True, 1500), (False, 240)])
def test_the_shipped_sample_is_balanced_and_real(train, count):
    data = FashionMNIST(FashionMNIST.sample_root(), train=train, transform=ToTensor())
    assert np.bincount(np.array(data.targets.tolist())).tolist() == [count // 10] * 10
    # The mean and standard deviation of the whole training set, as its authors and many programs state them.
    pixels = next(iter(DataLoader(data, count)))[0]
    values = np.array(pixels.tolist())
    assert abs(values.mean() - 0.286) < 0.01
    assert abs(values.std() - 0.353) < 0.01
    assert data.classes[data[0][1]] == "Ankle boot"


def test_the_shipped_sample_is_small_and_has_its_licence():
    from pathlib import Path

    root = Path(FashionMNIST.sample_root())
    assert sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) <= 1_200_000
    assert (root / "FashionMNIST" / "LICENSE").read_text("utf-8").startswith("The MIT License")


def test_reading_loads_neither_pillow_nor_tensorflow_datasets(tmp_path):
    code = (
        "import sys; from torchlike.vision import datasets, transforms; from torchlike.utils.data import DataLoader;"
        "data = datasets.FashionMNIST(sys.argv[1], transform=transforms.ToTensor(), download=True);"
        "next(iter(DataLoader(data, 4)));"
        "print([name for name in ('PIL', 'tensorflow_datasets', 'requests') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code, write(tmp_path)], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
