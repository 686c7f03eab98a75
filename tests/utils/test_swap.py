"""swap_tensors, and data pipes."""

from typing import Any

import pytest

import torchlike as torch
from torchlike.utils.data.datapipes.iter import FileLister, FileOpener, IterableWrapper

pytestmark = pytest.mark.recorded


def test_tensors_exchange_what_they_are():
    a: Any = torch.nn.Parameter(torch.ones(2))
    b: Any = torch.zeros(3)
    a.mark, was = "a", id(a)
    torch.utils.swap_tensors(a, b)
    assert id(a) == was and a.tolist() == [0.0, 0.0, 0.0] and not isinstance(a, torch.nn.Parameter)
    assert isinstance(b, torch.nn.Parameter) and b.requires_grad and vars(b)["mark"] == "a"
    (b * 2).sum().backward()
    with pytest.raises(RuntimeError, match="swap"):
        torch.utils.swap_tensors(a, b)


def test_pipes_follow_each_other(tmp_path):
    pipe = IterableWrapper(range(5)).map(lambda x: x * 2).filter(lambda x: x != 4).batch(2)
    assert list(pipe) == [[0, 2], [6, 8]] == list(pipe)
    for name in ("b.txt", "a.txt", "c.bin"):
        (tmp_path / name).write_text(name)
    opened = [(path[-5:], file.read(), file.close()) for path, file in FileOpener(FileLister(str(tmp_path), "*.txt"))]
    assert opened == [("a.txt", "a.txt", None), ("b.txt", "b.txt", None)]
    assert len(torch.utils.data.DataLoader(IterableWrapper([1, 2, 3]), batch_size=2)) == 2
    with pytest.raises(AttributeError, match="has no attribute 'nothing"):
        _ = pipe.nothing
