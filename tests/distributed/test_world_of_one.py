"""Grids of processes, calls between processes and wrapped modules, in a world of one."""

from typing import Any

import pytest

import torchlike as torch
import torchlike.distributed as dist
from torchlike.distributed import rpc
from torchlike.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    CheckpointWrapper,
    apply_activation_checkpointing,
    checkpoint_wrapper,
)

pytestmark = pytest.mark.recorded


@pytest.fixture
def world():
    dist.init_process_group("gloo", rank=0, world_size=1)
    yield dist.group.WORLD
    dist.destroy_process_group()


def test_a_mesh_has_one_process_along_each_dimension(world):
    mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
    assert repr(mesh) == "DeviceMesh((dp=1, tp=1), 'cpu', stride=((), ()))"
    assert repr(dist.init_device_mesh("cpu", (1,))) == "DeviceMesh((1,), 'cpu', stride=((),))"
    assert (mesh.size(), mesh.size(0), mesh.ndim, mesh.get_coordinate()) == (1, 1, 2, (0, 0))
    assert mesh["dp"].get_group().size() == 1 == mesh.get_group("tp").size()
    with pytest.raises(KeyError, match="Invalid mesh_dim_names"):
        _ = mesh["x"]
    with pytest.raises(RuntimeError, match="Mesh should not be bigger than default world size 8, but found 9 ranks!"):
        dist.init_device_mesh("cpu", (9,))  # more than the devices of this process
    with pytest.raises(RuntimeError, match="Found the DeviceMesh have 2 dimensions"):
        mesh.get_group()


def test_collectives_under_their_other_names(world):
    out = torch.empty(2)
    dist.reduce_scatter_tensor(out, torch.tensor([1.0, 2.0]))
    assert out.tolist() == [1.0, 2.0]
    dist.all_to_all_single(out, torch.tensor([3.0, 4.0]))
    assert out.tolist() == [3.0, 4.0]
    assert dist.get_process_group_ranks(world) == [0] and dist.get_global_rank(world, 0) == 0
    assert dist.Backend("GLOO") == "gloo" == dist.get_default_backend_for_device("cpu")


def test_a_process_calls_itself():
    rpc.init_rpc("worker", rank=0, world_size=1)
    try:
        assert repr(rpc.get_worker_info()) == "WorkerInfo(id=0, name=worker)"
        assert rpc.rpc_sync("worker", torch.add, (torch.ones(1), 2)).tolist() == [3.0]
        assert rpc.rpc_async("worker", max, (1, 2)).then(lambda done: done.wait() + 1).wait() == 3
        reference = rpc.remote("worker", list, ((1, 2),))
        assert reference.to_here() == [1, 2] and reference.rpc_sync().copy() == [1, 2] and reference.is_owner()
        with pytest.raises(RuntimeError, match="name:worker,rank:0 could not find destination name other"):
            rpc.rpc_sync("other", max, (1, 2))
    finally:
        rpc.shutdown()
    with pytest.raises(RuntimeError, match="RPC has not been initialized"):
        rpc.rpc_sync("worker", max, (1, 2))
    with pytest.raises(NotImplementedError, match="world_size is 2"):
        rpc.init_rpc("worker", rank=0, world_size=2)


@pytest.mark.parametrize("kind", CheckpointImpl)
def test_a_wrapped_module_has_the_names_of_the_module(kind):
    torch.manual_seed(0)
    plain = torch.nn.Linear(2, 2)
    wrapped = checkpoint_wrapper(torch.nn.Linear(2, 2), kind)
    wrapped.load_state_dict(plain.state_dict())
    assert [name for name, _ in wrapped.named_parameters()] == list(wrapped.state_dict()) == ["weight", "bias"]
    x = torch.ones(1, 2, requires_grad=True)
    wrapped(x).sum().backward()
    grad: Any = x.grad
    x.grad = None
    plain(x).sum().backward()
    again: Any = x.grad
    assert grad.tolist() == again.tolist() and plain.weight.grad.tolist() == wrapped.weight.grad.tolist()


def test_modules_within_a_model_are_wrapped():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    apply_activation_checkpointing(model, check_fn=lambda module: isinstance(module, torch.nn.Linear))
    assert isinstance(model[0], CheckpointWrapper) and isinstance(model[1], torch.nn.ReLU)
