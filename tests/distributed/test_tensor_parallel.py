"""parallelize_module on eight devices of one process, alone and with fully_shard: losses are those of one device."""

from typing import Any

import pytest

import torchlike as torch
from tests.distributed.test_fully_shard import exchanges, programs
from torchlike import nn
from torchlike.distributed.device_mesh import DeviceMesh, init_device_mesh
from torchlike.distributed.fsdp import fully_shard
from torchlike.distributed.tensor import Replicate, Shard, distribute_tensor
from torchlike.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torchlike.engine import recorder
from torchlike.engine.report import report

pytestmark = pytest.mark.recorded


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(3 * width, width)

    def forward(self, x: Any) -> Any:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, width: int = 16, classes: int = 24) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(classes, width), nn.Linear(width, classes)
        self.blocks = nn.ModuleList([Block(width), Block(width)])

    def forward(self, x: Any) -> Any:
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


PLAN: dict[str, Any] = {
    "embed": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    "blocks.*.norm": SequenceParallel(),
    "blocks.*.up": ColwiseParallel(),
    "blocks.*.down": RowwiseParallel(output_layouts=Shard(1)),
    "head": ColwiseParallel(input_layouts=Shard(1)),
}


def train(wrap: Any, steps: int = 12, **sizes: int) -> tuple[list[float], Any, list[int]]:
    torch.manual_seed(4)
    model = wrap(Model(**sizes))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    tokens, losses, compiled = torch.randint(0, sizes.get("classes", 24), (steps, 8, 9)), [], []
    for number in range(steps):
        before = report.compiles, report.op_compiles
        with loss_parallel():
            output = model(tokens[number][:, :8])
            loss = nn.functional.cross_entropy(output.flatten(0, 1), tokens[number][:, 1:].flatten())
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if (report.compiles, report.op_compiles) != before:
            compiled.append(number)
    return losses, model, compiled


def by_layers(model: Any) -> Any:
    return parallelize_module(model, init_device_mesh("cpu", (8,)), PLAN)


def both_ways(model: Any) -> Any:
    mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
    parallelize_module(model, mesh["tp"], PLAN)
    for block in model.blocks:
        fully_shard(block, mesh=mesh["dp"])
    return fully_shard(model, mesh=mesh["dp"])


@pytest.fixture(scope="module")
def alone() -> list[float]:
    with torch.engine.compiling("now"):
        return train(lambda model: model)[0]


@pytest.mark.parametrize("wrap", [by_layers, both_ways])
def test_losses_are_those_of_one_device(alone: list[float], wrap: Any) -> None:
    before = programs()
    losses, model, compiled = train(wrap)
    assert losses == pytest.approx(alone, abs=3e-6)
    assert max(compiled) < 3
    young = [exchanges(each) for each in programs() if all(each is not other for other in before)]
    # Nothing is cut along another dimension on the way.
    assert set().union(*young) == {"all-gather", "all-reduce", "reduce-scatter"}
    layouts = {name: parameter.placements for name, parameter in model.named_parameters()}
    if wrap is by_layers:
        assert layouts["blocks.0.up.weight"] == layouts["blocks.0.up.bias"] == layouts["embed.weight"] == (Shard(0),)
        assert layouts["blocks.1.down.weight"] == (Shard(1),) and layouts["blocks.1.down.bias"] == (Replicate(),)
    else:
        assert layouts["blocks.0.up.weight"] == (Shard(0), Shard(0))
        assert layouts["blocks.0.down.weight"] == (Shard(0), Shard(1))
        assert layouts["blocks.0.norm.weight"] == (Shard(0), Replicate())


def test_shapes_that_do_not_divide_change_nothing() -> None:
    found = [train(wrap, 2, width=5, classes=11)[0] for wrap in (lambda model: model, by_layers)]
    assert found[1] == pytest.approx(found[0], abs=3e-6)


def test_a_pair_of_layers_exchanges_once_each_way() -> None:
    torch.manual_seed(0)
    mesh, before = init_device_mesh("cpu", (8,)), programs()
    model: Any = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 16))
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    for wants_gradient, count in ((False, 1), (True, 2)):
        x: Any = distribute_tensor(torch.randn(8, 16).requires_grad_(wants_gradient), mesh)
        model(x).square().sum().backward()
        recorder().flush("a step has ended", hot=True)
        gradients = [each.grad.tolist() for each in (*model.parameters(), *([x] if wants_gradient else []))]
        assert len(gradients) == 4 + wants_gradient
        young = [each for each in programs() if all(each is not other for other in before)]
        before = programs()
        assert [exchanges(each)["all-reduce"] for each in young] == [count]
        assert all(set(exchanges(each)) == {"all-reduce"} for each in young)


def test_inputs_and_outputs_are_prepared() -> None:
    mesh, seen = init_device_mesh("cpu", (8,)), []

    class Inner(nn.Module):
        def forward(self, x: Any, y: Any, scale: Any = None) -> Any:
            seen.extend([x.placements, scale.placements])
            return x * scale, y

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def forward(self, x: Any) -> Any:
            return self.inner(x, 3, scale=x)

    before = PrepareModuleInput(
        input_layouts=(Replicate(), None),
        desired_input_layouts=(Shard(0), None),
        input_kwarg_layouts={"scale": Replicate()},
        desired_input_kwarg_layouts={"scale": Shard(1)},
    )
    after = PrepareModuleOutput(output_layouts=(Shard(0), None), desired_output_layouts=(Shard(1), None))
    model = parallelize_module(Outer(), mesh, {"inner": before})
    parallelize_module(model, mesh, {"inner": after})
    result, three = model(torch.ones(8, 8))
    assert seen == [(Shard(0),), (Shard(1),)] and three == 3
    assert result.placements == (Shard(1),) and result.tolist() == [[1.0] * 8] * 8


def test_wrong_plans_raise_pytorchs_errors() -> None:
    mesh: DeviceMesh = init_device_mesh("cpu", (8,))
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    with pytest.warns(UserWarning, match="No parallelize_plan is provided and auto-parallel is not supported"):
        parallelize_module(model, mesh)
    with pytest.warns(
        UserWarning, match=r"Parallelize plan key 'x.y' could not be resolved: no submodule matching token 'x' in"
    ):
        parallelize_module(model, mesh, {"x.y": ColwiseParallel()})
    with pytest.raises(NotImplementedError, match="RowwiseParallel currently only support nn.Linear and nn.Embedding!"):
        parallelize_module(model, mesh, {"1": RowwiseParallel()})
    plan: Any = {"0": 3}
    with pytest.raises(
        TypeError,
        match=r"Expect Union\[ParallelStyle, Dict\[str, ParallelStyle\]\] for parallelize_plan, <class 'int'>",
    ):
        parallelize_module(model, mesh, plan)
    with pytest.raises(AssertionError, match="desired module inputs should not be None!"):
        PrepareModuleInput(input_layouts=(Shard(0),))
