"""Files of PyTorch before 0.4, in which a storage may be a part of another one: the loaded tensors share memory accordingly."""

import io
import pickle
import struct
from typing import Any

import numpy as np
import pytest

import torchlike as torch
from torchlike.serialization._legacy import MAGIC, PROTOCOL


class Mention:
    """A storage of six numbers, or a part of it."""

    def __init__(self, *piece):
        self.id = ("storage", Name("torch", "FloatStorage"), "1", "cpu", 6, ("7", *piece) if piece else None)


class Name:
    """A name in PyTorch, written to the pickle as text."""

    def __init__(self, module, name):
        self.text = f"{module}\n{name}\n"


class Lying:
    """A tensor: the storage, its offset there, its sizes and its strides."""

    def __init__(self, *place):
        self.place = place


PythonPickler: Any = vars(pickle)[
    "_Pickler"
]  # the Pickler in Python, whose methods can be overridden; type checkers do not know it


class Writer(PythonPickler):
    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, Mention):
            super().save(obj.id)
            self.write(pickle.BINPERSID)
        elif isinstance(obj, Name):
            self.write(pickle.GLOBAL + obj.text.encode())
        elif isinstance(obj, Lying):
            self.save(Name("torch._utils", "_rebuild_tensor_v2"))
            self.save((*obj.place, False, {}))
            self.write(pickle.REDUCE)
        else:
            super().save(obj, save_persistent_id)


def written(*tensors):
    file = io.BytesIO()
    for part in (MAGIC, PROTOCOL, {"little_endian": True}):
        pickle.dump(part, file, 2)
    Writer(file, 2).dump(list(tensors))
    pickle.dump(["1"], file, 2)
    file.write(struct.pack("<q", 6) + np.arange(6, dtype=np.float32).tobytes())
    file.seek(0)
    return file


@pytest.mark.parametrize("options", [{}, {"weights_only": False}], ids=["weights only", "anything"])
def test_pieces_of_a_storage_share_its_memory(options):
    piece, whole, turned = torch.load(
        written(
            Lying(Mention(2, 3), 1, (2,), (1,)),
            Lying(Mention(), 0, (2, 3), (3, 1)),
            Lying(Mention(0, 4), 0, (2, 2), (1, 2)),
        ),
        **options,
    )
    assert [piece.tolist(), whole.tolist(), turned.tolist()] == [[3, 4], [[0, 1, 2], [3, 4, 5]], [[0, 2], [1, 3]]]
    whole += 10
    assert [piece.tolist(), turned.tolist()] == [[13, 14], [[10, 12], [11, 13]]]


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (
            Lying(Mention(2, 3), 1, (3,), (1,)),
            "setStorage: sizes [3], strides [1], storage offset 1, and itemsize 4 requiring a storage size of 16 are out of bounds "
            "for storage of size 12",
        ),
        (
            Lying(Mention(4, 3), 0, (2,), (1,)),
            "a storage is said to be 3 elements from 4 on of 6: the file might be corrupted",
        ),
        (
            Lying(Mention(-1, 3), 0, (2,), (1,)),
            "a storage is said to be 3 elements from -1 on of 6: the file might be corrupted",
        ),
    ],
)
def test_a_piece_has_its_bounds(tensor, message):
    with pytest.raises(RuntimeError) as caught:
        torch.load(written(tensor))
    assert str(caught.value) == message
