"""Files with nested tensors, written by one library and read by the other."""

from typing import Any

import pytest

import torchlike

pytestmark = [
    pytest.mark.compare,
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype"),
]
torch = pytest.importorskip("torch")

VIEWS = {
    "itself": lambda n: n,
    "turned": lambda n: n.transpose(1, 2),
    "a column": lambda n: n.select(2, 1),
    "a chunk": lambda n: n.chunk(3, -1)[2],
}


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", VIEWS)
def test_nested_tensors_go_from_one_to_the_other(tmp_path, name, weights_only):
    for writer, reader in [(torchlike, torch), (torch, torchlike)]:
        parts = [writer.arange(6.0).view(2, 3), writer.arange(12.0).view(4, 3)]
        view: Any = VIEWS[name](writer.nested.nested_tensor(parts))
        writer.save(view, tmp_path / "n.pt")
        again: Any = reader.load(tmp_path / "n.pt", weights_only=weights_only)
        for fact in ("_nested_tensor_size", "_nested_tensor_strides", "_nested_tensor_storage_offsets"):
            assert getattr(again, fact)().tolist() == getattr(view, fact)().tolist()
        assert [part.tolist() for part in again.unbind()] == [part.tolist() for part in view.unbind()]
