"""The datasets of MNIST's form: one row each, with the address and the checksums of the files."""

from dataclasses import dataclass

__all__ = ["FASHION_MNIST", "KMNIST", "MNIST", "File", "Row"]


@dataclass(frozen=True)
class File:
    """A published file: its size in bytes and its SHA-256."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Row:
    """A dataset of four gzipped IDX files: images ``(N, 28, 28)`` and labels ``(N,)``, for training and for testing."""

    name: str
    source: str  # the folder of the files; their names are added to it
    classes: tuple[str, ...]
    files: tuple[File, ...]


TRAIN = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")
TEST = ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def _files(*facts: tuple[int, str]) -> tuple[File, ...]:
    return tuple(File(f"{name}.gz", *fact) for name, fact in zip(TRAIN + TEST, facts, strict=True))


MNIST = Row(
    name="MNIST",
    source="https://storage.googleapis.com/cvdf-datasets/mnist/",
    classes=(
        "0 - zero",
        "1 - one",
        "2 - two",
        "3 - three",
        "4 - four",
        "5 - five",
        "6 - six",
        "7 - seven",
        "8 - eight",
        "9 - nine",
    ),
    files=_files(
        (9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
        (28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
        (1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
        (4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
    ),
)

FASHION_MNIST = Row(
    name="FashionMNIST",
    source="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    classes=(
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    ),
    files=_files(
        (26421880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
        (29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
        (4422102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
        (5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
    ),
)

KMNIST = Row(
    name="KMNIST",
    source="http://codh.rois.ac.jp/kmnist/dataset/kmnist/",
    classes=("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"),
    files=_files(
        (18165135, "51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4"),
        (29497, "e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17"),
        (3041136, "edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5"),
        (5120, "20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c"),
    ),
)
