"""Tensors that one process distributes over eight devices: their placement, operations on them, and their printed form."""

from typing import Any

import numpy as np
import pytest

import torchlike as torch
from torchlike import nn
from torchlike.distributed import tensor as dt
from torchlike.distributed.device_mesh import DeviceMesh, init_device_mesh
from torchlike.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_module, distribute_tensor


@pytest.fixture(scope="module")
def line() -> DeviceMesh:
    return init_device_mesh("cpu", (8,), mesh_dim_names=("dp",))


@pytest.fixture(scope="module")
def grid() -> DeviceMesh:
    return init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))


def test_a_mesh_of_devices_is_sliced_by_name(grid: DeviceMesh) -> None:
    assert repr(grid) == "DeviceMesh((dp=2, tp=4), 'cpu', stride=(4, 1))"
    assert repr(grid["tp"]) == "DeviceMesh((tp=4), 'cpu', stride=(1,))" and grid["dp"].size() == 2
    assert (grid.get_rank(), grid.get_local_rank("tp"), grid.get_coordinate()) == (0, 0, (0, 0))
    with pytest.raises(RuntimeError, match="Mesh should not be bigger than default world size 8, but found 9 ranks!"):
        init_device_mesh("cpu", (9,))
    with pytest.raises(NotImplementedError, match="process groups of the devices of one process"):
        grid.get_group("dp")


@pytest.mark.parametrize(
    ("shape", "placements"),
    [
        ((16, 8), [Shard(0), Shard(1)]),
        ((16, 8), [Shard(0), Shard(0)]),
        ((16, 8), [Replicate(), Shard(-1)]),
        ((5, 3), [Shard(0), Shard(1)]),  # no dimension can be divided
        ((1,), [Replicate(), Shard(0)]),
        ((0, 4), [Shard(0), Replicate()]),
    ],
)
def test_a_tensor_lies_as_it_was_said_and_is_whole_again(grid: DeviceMesh, shape: Any, placements: Any) -> None:
    x = torch.arange(float(np.prod(shape))).reshape(shape)
    spread: Any = distribute_tensor(x, grid, placements)
    normal = tuple(Shard(p.dim % len(shape)) if isinstance(p, Shard) else p for p in placements)
    assert [isinstance(spread, kind) for kind in (DTensor, torch.Tensor)] == [True, True] and not isinstance(x, DTensor)
    assert (spread.placements, spread.device_mesh, spread.shape, spread.device) == (normal, grid, x.shape, x.device)
    whole: Any = spread.full_tensor()
    assert torch.equal(whole, x) and not isinstance(whole, DTensor)
    assert torch.equal((spread * 2 + 1).full_tensor(), x * 2 + 1)
    assert spread.tolist() == x.tolist()


def test_the_local_piece_is_that_of_pytorchs_first_process(line: DeviceMesh) -> None:
    spread: Any = distribute_tensor(torch.arange(10), line, [Shard(0)])
    assert spread.to_local().tolist() == [0, 1]  # PyTorch: 2, 2, 2, 2, 2, 0, 0, 0
    assert repr(spread) == (
        "DTensor(local_tensor=tensor([0, 1]), device_mesh=DeviceMesh((dp=8), 'cpu', stride=(1,)), placements=(Shard(dim=0),))"
    )
    assert repr(nn.Parameter(distribute_tensor(torch.ones(2), line))) == (
        "DTensor(local_tensor=tensor([1., 1.]), device_mesh=DeviceMesh((dp=8), 'cpu', stride=(1,)), placements=(Replicate(),))"
    )


def test_redistribution_keeps_values_and_lets_gradients_back(line: DeviceMesh) -> None:
    x: Any = distribute_tensor(torch.randn(16, 8).requires_grad_(), line, [Shard(0)])
    y = x.redistribute(placements=[Shard(1)])
    assert y.placements == (Shard(1),) and y.to_local().shape == (16, 1)
    (y.full_tensor() * torch.arange(8.0)).sum().backward()
    assert x.grad.placements == (Shard(0),)
    assert torch.equal(x.grad.full_tensor(), torch.arange(8.0).expand(16, 8))
    (x.to_local() * 3).sum().backward()
    assert x.grad.full_tensor()[:3].tolist() == (torch.arange(8.0) + torch.tensor([[3.0], [3.0], [0.0]])).tolist()
    with pytest.raises(RuntimeError, match=r"placements is needed for redistribute!"):
        x.redistribute()
    with pytest.raises(
        RuntimeError, match=r"Can not redistribute from S\(0\) to P\(sum\), redistributing to Partial is"
    ):
        x.redistribute(placements=[Partial()])
    with pytest.raises(NotImplementedError, match="Cross device mesh comm not supported yet!"):
        x.redistribute(init_device_mesh("cpu", (4,)), [Shard(0)])


def test_tensors_are_made_of_local_pieces(line: DeviceMesh) -> None:
    pieces = [torch.full((2,), float(n)) for n in range(8)]
    whole: Any = DTensor.from_local(pieces, line, [Shard(0)])
    assert whole.placements == (Shard(0),) and whole.tolist() == [float(n // 2) for n in range(16)]
    assert DTensor.from_local(pieces, line, [Partial()]).tolist() == [28.0, 28.0]
    assert DTensor.from_local(pieces, line, [Partial("avg")]).tolist() == [3.5, 3.5]
    assert DTensor.from_local(pieces[3], line).tolist() == [3.0, 3.0]
    with pytest.raises(
        NotImplementedError, match=r"from_local of one tensor with the placement Shard\(dim=0\) on 8 devices"
    ):
        DTensor.from_local(pieces[0], line, [Shard(0)])


def test_wrong_calls_raise_pytorchs_errors(line: DeviceMesh, grid: DeviceMesh) -> None:
    x = torch.ones(4)
    with pytest.raises(
        ValueError,
        match="`placements` must have the same length as `device_mesh.ndim`! Found placements length: 2, and",
    ):
        distribute_tensor(x, line, [Shard(0), Shard(0)])
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-1, 0\], but got 1\)"):
        distribute_tensor(x, line, [Shard(1)])
    with pytest.raises(RuntimeError, match="should be used to distribute leaf tensors! but found non-leaf tensor!"):
        distribute_tensor(x.requires_grad_() * 2, line, [Shard(0)])
    with pytest.raises(RuntimeError, match="No device mesh is currently active!"):
        distribute_tensor(x)
    spread = distribute_tensor(x.detach(), line, [Shard(0)])
    with pytest.raises(
        ValueError, match=r"Cannot distribute a DTensor with placements \(Shard\(dim=0\),\) to a different placements"
    ):
        distribute_tensor(spread, line, [Replicate()])
    with pytest.raises(ValueError, match="Cannot distribute a DTensor with device mesh"):
        distribute_tensor(spread, grid, [Replicate()] * 2)
    with pytest.raises(RuntimeError, match="All operands must have the same mesh"):
        spread + distribute_tensor(x.detach(), grid)
    with pytest.raises(NotImplementedError, match=r"DTensor\(...\) itself"):
        DTensor(x, line, [Shard(0)])
    assert not hasattr(x, "to_local") and not hasattr(x, "placements") and hasattr(spread, "full_tensor")
    with line:
        assert distribute_tensor(x.detach()).tolist() == [1.0] * 4


def test_factories_give_the_numbers_of_plain_tensors(line: DeviceMesh) -> None:
    torch.manual_seed(3)
    expected = torch.randn(16, 2)
    torch.manual_seed(3)
    drawn: Any = dt.randn(16, 2, device_mesh=line, placements=[Shard(0)], requires_grad=True)
    assert torch.equal(drawn.full_tensor(), expected) and drawn.requires_grad and drawn.is_leaf
    assert dt.full((2,), 7, device_mesh=line).tolist() == [7, 7]
    assert dt.zeros((8, 2), dtype=torch.int64, device_mesh=line, placements=[Shard(0)]).tolist() == [[0, 0]] * 8
    like = torch.zeros_like(drawn)
    assert isinstance(like, DTensor) and like.tolist() == [[0.0, 0.0]] * 16


def test_writes_in_place_keep_the_layout(line: DeviceMesh) -> None:
    x: Any = distribute_tensor(torch.zeros(16, 2), line, [Shard(0)])
    x += torch.arange(2.0)
    x[3] = distribute_tensor(torch.tensor([5.0, 6.0]), line)
    x.mul_(x.detach() + 1)
    assert x.placements == (Shard(0),)
    assert x[2:4].tolist() == [[0.0, 2.0], [30.0, 42.0]]
    plain = torch.zeros(4, 2)
    plain[1:3] = x[2:4].detach()  # `plain` is moved to the mesh of the value
    assert plain.tolist() == [[0.0, 0.0], [0.0, 2.0], [30.0, 42.0], [0.0, 0.0]]


def test_a_wrong_index_is_reported(line: DeviceMesh) -> None:
    table: Any = distribute_tensor(torch.randn(8, 4), line, [Shard(0)])
    with pytest.raises(IndexError, match="index out of range in self"):
        nn.functional.embedding(torch.tensor([8]), table).sum().item()
    logits: Any = distribute_tensor(torch.randn(16, 4), line, [Shard(0)])
    with pytest.raises(IndexError, match="Target 9 is out of bounds"):
        nn.functional.cross_entropy(logits, distribute_tensor(torch.full((16,), 9), line, [Shard(0)])).item()


def losses(module: Any) -> list[float]:
    """Losses of twelve steps: one is read before its backward pass, and in two the gradients are added up."""
    stepper, found = torch.optim.SGD(module.parameters(), 0.1, 0.9), []
    inputs, targets = torch.randn(12, 16, 12), torch.randint(0, 5, (12, 16))
    for number in range(12):
        loss = nn.functional.cross_entropy(module(inputs[number]), targets[number])
        if number == 3:
            loss.item()
        loss.backward()
        if number != 7:
            stepper.step()
            stepper.zero_grad()
        found.append(loss.item())
    return found


def test_a_module_distributed_by_hand_learns_as_on_one_device(line: DeviceMesh) -> None:
    def cut(name: str, module: Any, mesh: DeviceMesh) -> None:
        if isinstance(module, nn.Linear):
            module.register_parameter("weight", nn.Parameter(distribute_tensor(module.weight, mesh, [Shard(0)])))

    found = []
    for spread in (False, True):
        torch.manual_seed(5)
        module: Any = nn.Sequential(nn.Linear(12, 24), nn.BatchNorm1d(24), nn.Dropout(0.2), nn.Linear(24, 5))
        if spread:
            distribute_module(
                module, line, cut, lambda _, inputs, mesh: (distribute_tensor(inputs[0], mesh, [Shard(0)]),)
            )
        found.append(losses(module))
    kinds = [(Shard(0),), *[(Replicate(),)] * 3, (Shard(0),), (Replicate(),)]
    assert [p.placements for p in module.parameters()] == kinds
    assert found[1] == pytest.approx(found[0], abs=2e-6)
