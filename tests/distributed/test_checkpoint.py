"""Checkpoints that are saved in one layout over devices and loaded in another are equal to the last bit."""

import os
from pathlib import Path
from typing import Any

import pytest

import torchlike as torch
from torchlike import nn
from torchlike.distributed import checkpoint as dcp
from torchlike.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_state_dict,
)
from torchlike.distributed.device_mesh import init_device_mesh
from torchlike.distributed.fsdp import fully_shard
from torchlike.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

pytestmark = pytest.mark.recorded


def tensors() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return {
        "float32": torch.randn(16, 6),
        "uneven": torch.randn(11, 3),
        "bfloat16": torch.randn(8, 2).to(torch.bfloat16),
        "float64": torch.randn(8, dtype=torch.float64),
        "int64": torch.arange(9) * 2**40,
        "bool": torch.arange(8) % 3 == 0,
        "complex64": torch.randn(8, 2, dtype=torch.complex64),
        "scalar": torch.tensor(3.5),
        "empty": torch.empty(0, 4),
    }


def spread(kind: str, tensor: torch.Tensor) -> Any:
    if kind == "plain" or not tensor.dim():
        return tensor
    if kind == "eight":
        return distribute_tensor(tensor, init_device_mesh("cpu", (8,)), [Shard(0)])
    return distribute_tensor(tensor, init_device_mesh("cpu", (2, 2)), [Shard(0), Shard(tensor.dim() - 1)])


@pytest.mark.parametrize("to", ["eight", "two by two", "plain"])
@pytest.mark.parametrize("how", ["eight", "two by two", "plain"])
def test_what_one_layout_has_saved_another_loads(tmp_path: Path, how: str, to: str) -> None:
    before = tensors()
    dcp.save({name: spread(how, each) for name, each in before.items()}, checkpoint_id=tmp_path)
    after = {name: spread(to, torch.zeros_like(each)) for name, each in before.items()}
    layouts = [each.placements for each in after.values() if isinstance(each, DTensor)]
    dcp.load(after, checkpoint_id=tmp_path)
    assert all(
        after[name].tolist() == each.tolist() and after[name].dtype == each.dtype for name, each in before.items()
    )
    assert [each.placements for each in after.values() if isinstance(each, DTensor)] == layouts


def test_other_entries_come_back_and_what_cannot_is_named(tmp_path: Path) -> None:
    state = {
        "a": {"lr": 0.1, "betas": (0.9, 0.999), "names": ["x", "y"], "none": None},
        "step": 7,
        "list": [torch.ones(2), {"b": torch.ones(1)}],
    }
    metadata = dcp.save(state, storage_writer=dcp.FileSystemWriter(tmp_path))
    assert metadata.tensors == ("list.0", "list.1.b")
    empty: Any = {
        "a": dict.fromkeys(("lr", "betas", "names", "none")),
        "step": 0,
        "list": [torch.zeros(2), {"b": torch.zeros(1)}],
    }
    dcp.load(empty, storage_reader=dcp.FileSystemReader(tmp_path))
    assert empty["a"] == state["a"] and empty["step"] == 7 and empty["list"][1]["b"].tolist() == [1.0]
    with pytest.raises(dcp.CheckpointException, match=r"RuntimeError: Missing key in checkpoint state_dict: other\."):
        dcp.load({"other": torch.ones(1)}, checkpoint_id=tmp_path)
    with pytest.raises(
        dcp.CheckpointException,
        match=r"ValueError: Size mismatch between saved torch.Size\(\[2\]\) and current: torch.Size\(\[3\]\) for list.0",
    ):
        dcp.load({"list": [torch.ones(3)]}, checkpoint_id=tmp_path)
    with pytest.raises(dcp.CheckpointException, match="FileNotFoundError"):
        dcp.load({"a": torch.ones(1)}, checkpoint_id=tmp_path / "none")
    with pytest.raises(
        RuntimeError, match="`checkpoint_id` must be specified if storage_reader/storage_writer is None"
    ):
        dcp.save(state)
    with pytest.raises(NotImplementedError, match="set in a checkpoint: 'x' is one"):
        dcp.save({"x": {1}}, checkpoint_id=tmp_path)
    dcp.load(empty, checkpoint_id=tmp_path)  # the same numbers as before


@pytest.mark.parametrize("at", ["fsync", "replace"])
def test_an_interrupted_save_leaves_the_old_checkpoint(
    tmp_path: Path, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dcp.save({"x": torch.ones(3)}, checkpoint_id=tmp_path)

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, at, interrupted)
        with pytest.raises(KeyboardInterrupt):
            dcp.save({"x": torch.zeros(3)}, checkpoint_id=tmp_path)
    loaded = {"x": torch.zeros(3)}
    dcp.load(loaded, checkpoint_id=tmp_path)
    assert loaded["x"].tolist() == [1.0] * 3
    dcp.save({"x": torch.full((3,), 2.0)}, checkpoint_id=tmp_path)
    dcp.load(loaded, checkpoint_id=tmp_path)
    assert loaded["x"].tolist() == [2.0] * 3 and len(list(tmp_path.glob("*.distcp"))) == 1


def model(sharded: bool) -> tuple[Any, Any]:
    torch.manual_seed(1)
    module: Any = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Linear(16, 3))
    if sharded:
        fully_shard(module)
    return module, torch.optim.AdamW(module.parameters(), lr=0.01)


def step(module: Any, optimizer: Any) -> float:
    torch.manual_seed(2)
    loss = module(torch.randn(8, 6)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


@pytest.mark.parametrize("sharded", [True, False])
def test_training_goes_on_from_a_checkpoint_in_another_layout(tmp_path: Path, sharded: bool) -> None:
    module, optimizer = model(sharded)
    step(module, optimizer)
    of_model, of_optimizer = get_state_dict(module, optimizer)
    future = dcp.async_save({"model": of_model, "optimizer": of_optimizer}, checkpoint_id=tmp_path)
    expected = [step(module, optimizer) for _ in range(2)]  # does not change what is saved
    assert future.result().tensors
    other, stepper = model(not sharded)
    of_model, of_optimizer = get_state_dict(other, stepper)
    assert list(of_optimizer["state"]["0.weight"]) == ["step", "exp_avg", "exp_avg_sq"]
    dcp.load({"model": of_model, "optimizer": of_optimizer}, checkpoint_id=tmp_path)
    set_state_dict(other, stepper, model_state_dict=of_model, optim_state_dict=of_optimizer)
    assert [step(other, stepper) for _ in range(2)] == pytest.approx(expected, abs=1e-6)


def test_full_state_dictionaries_are_whole(tmp_path: Path) -> None:
    module, optimizer = model(True)
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    whole = get_model_state_dict(module, options=options)
    assert not any(isinstance(each, DTensor) for each in whole.values()) and whole["0.weight"].shape == (16, 6)
    step(module, optimizer)
    full = get_state_dict(module, optimizer, options=options)
    set_state_dict(module, optimizer, model_state_dict=whole, optim_state_dict=full[1])
    assert torch.equal(module[0].weight.full_tensor(), whole["0.weight"])
    state: Any = optimizer.state[module[0].weight]
    assert state["exp_avg"].placements == (Shard(0),) and module[0].weight.placements != (Replicate(),)


def test_objects_with_a_state_are_saved_by_it(tmp_path: Path) -> None:
    module, other = nn.Linear(3, 2), nn.Linear(3, 2)
    dcp.save({"module": module}, checkpoint_id=tmp_path)
    dcp.load({"module": other}, checkpoint_id=tmp_path)
    assert torch.equal(module.weight, other.weight)
    assert isinstance(module, dcp.stateful.Stateful) and not isinstance(module.weight, dcp.stateful.Stateful)
