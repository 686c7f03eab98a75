"""torch.distributed in a world of one process: the functions that programs for several processes call, and errors."""

import pytest

import torchlike as torch
from torchlike import distributed as dist, nn


@pytest.fixture
def world():
    dist.init_process_group("nccl", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize("ask", [dist.get_rank, dist.get_world_size, dist.barrier, dist.get_backend, dist.new_group])
def test_collectives_without_a_group_raise(ask):
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        ask()
    assert not dist.is_initialized()


def test_the_world_has_one_process(world):
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend(), dist.is_initialized()) == (0, 1, "nccl", True)
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("gloo", rank=0, world_size=1)


def test_collectives_of_one(world):
    x, others = torch.arange(3.0), [torch.zeros(3)]
    assert dist.all_reduce(x, op=dist.ReduceOp.SUM) is None
    assert dist.broadcast(x, src=0, async_op=True).wait()
    dist.all_gather(others, x)
    assert others[0].tolist() == x.tolist() == [0, 1, 2]
    objects = [None]
    dist.all_gather_object(objects, "a")
    assert objects == ["a"]
    with pytest.raises(ValueError, match="Invalid rank 1"):
        dist.broadcast(x, src=1)
    with pytest.raises(TypeError, match="Expected parameter `tensor` of type torch.Tensor"):
        dist.all_reduce([1])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("call", ["send", "isend", "recv", "irecv"])
def test_nothing_is_sent_to_oneself(world, call):
    end = "destination" if "send" in call else "source"
    with pytest.raises(
        ValueError, match=f"Invalid {end} rank: {end} rank should not be the same as the rank of the current"
    ):
        getattr(dist, call)(torch.ones(1), 0)


def test_what_the_environment_lacks_is_named(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        with pytest.raises(ValueError, match=f"environment variable {name} expected, but not set"):
            dist.init_process_group("gloo")
        monkeypatch.setenv(name, {"RANK": "0", "WORLD_SIZE": "4", "MASTER_ADDR": "localhost"}.get(name, "0"))
    with pytest.raises(ValueError, match="tcp:// rendezvous: rank parameter missing"):
        dist.init_process_group("gloo", init_method="tcp://localhost:0")
    with pytest.raises(RuntimeError, match="No rendezvous handler for x://"):
        next(dist.rendezvous("x://y"))


def test_data_parallel_trains_its_module(world):
    model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    with model.no_sync():
        model(torch.ones(3, 2)).sum().backward()
    assert model.module.weight.grad.tolist() == [[3, 3]]
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    with pytest.raises(RuntimeError, match="is not needed when a module doesn't have any parameter"):
        nn.parallel.DistributedDataParallel(nn.ReLU())


def test_a_sampler_asks_the_group(world):
    sampler = torch.utils.data.DistributedSampler(range(5), shuffle=False)
    assert (list(sampler), sampler.num_replicas, sampler.rank) == ([0, 1, 2, 3, 4], 1, 0)
    with pytest.raises(ValueError, match=r"Invalid rank 3, rank should be in the interval \[0, 0\]"):
        torch.utils.data.DistributedSampler(range(5), rank=3)


def test_data_parallel_needs_a_group():
    with pytest.raises(ValueError, match="Default process group"):
        nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
