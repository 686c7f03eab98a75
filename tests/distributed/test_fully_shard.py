"""fully_shard on eight devices of one process gives the losses of one device, and each device keeps only its part."""

import gc
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import torchlike as torch
from torchlike import nn
from torchlike.distributed.device_mesh import init_device_mesh
from torchlike.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    fully_shard,
    register_fsdp_forward_method,
)
from torchlike.distributed.tensor import DTensor, Replicate, Shard
from torchlike.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torchlike.engine.meshes import MeshedExecutable
from torchlike.engine.report import report

pytestmark = pytest.mark.recorded


def perceptron() -> Any:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(24, 64), nn.Tanh(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 16))


def train(module: nn.Module, steps: int) -> tuple[list[float], Any, list[int]]:
    """Returns the losses, the optimizer, and the steps after which something had been compiled."""
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    torch.manual_seed(2)
    inputs, targets, losses, compiled = torch.randn(steps, 32, 24), torch.randint(0, 16, (steps, 32)), [], []
    for number in range(steps):
        before = report.compiles, report.op_compiles
        loss = nn.functional.cross_entropy(module(inputs[number]), targets[number])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if (report.compiles, report.op_compiles) != before:
            compiled.append(number)
    return losses, optimizer, compiled


def layers(module: Any) -> Any:
    """Applied to each layer, and to the module around them."""
    for each in module:
        if isinstance(each, nn.Linear):
            fully_shard(each)
    return fully_shard(module)


def copies(module: Any) -> Any:
    """Two copies of the whole model, each on four devices."""
    return fully_shard(module, mesh=init_device_mesh("cpu", (2, 4), mesh_dim_names=("replicate", "shard")))


PLAN = {"0": ColwiseParallel(), "2": RowwiseParallel(), "4": ColwiseParallel(output_layouts=Replicate())}


def by_plan(module: Any) -> Any:
    return parallelize_module(module, init_device_mesh("cpu", (4,)), PLAN)


def both_ways(module: Any) -> Any:
    mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
    return fully_shard(parallelize_module(module, mesh["tp"], PLAN), mesh=mesh["dp"])


@pytest.fixture(scope="module")
def alone() -> list[float]:
    with torch.engine.compiling("now"):
        return train(perceptron(), 12)[0]


def programs() -> list[MeshedExecutable]:
    """Returns all programs over meshes."""
    return [each for each in gc.get_objects() if type(each) is MeshedExecutable]


def exchanges(program: MeshedExecutable) -> Counter[str]:
    """Counts a program's exchanges by kind: arrays that are sent together count one by one, single numbers do not count."""
    counts: Counter[str] = Counter()
    for kinds, name in re.findall(
        r"= (\([^)]*\)|\S+) (all-\w+|reduce-scatter|collective-\w+)(?:-start)?\(", program.hlo()
    ):
        counts.update(name for size in re.findall(r"\[([\d,]*)\]", kinds) if size)
    return counts


# If the layers are wrapped one by one, backward does not read the first; the outermost module keeps what it gathered.
@pytest.mark.costly
@pytest.mark.parametrize(
    ("wrap", "recorded", "gathered"),
    [
        (fully_shard, "fsdp 4", 6),
        (layers, "fsdp 2", 8),
        (copies, "fsdp 2", 6),
        (by_plan, "tp 4", None),
        (both_ways, "2d 4", None),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_losses_are_those_of_one_device_and_of_pytorch(
    alone: list[float], golden: Any, wrap: Callable[[Any], Any], recorded: str, gathered: int | None
) -> None:
    module, before = wrap(perceptron()), programs()
    losses, _, compiled = train(module, 12)
    assert losses == pytest.approx(alone, abs=2e-6)
    assert losses == pytest.approx(golden("devices")[recorded], rel=1e-6)
    assert max(compiled) < 3
    if gathered is not None:
        (found,) = [exchanges(each) for each in programs() if all(each is not other for other in before)]
        # With two copies of the model, pieces of the gradients are reduced between the copies besides.
        assert found == {"all-gather": gathered, "reduce-scatter": 6} | ({"all-reduce": 6} if wrap is copies else {})


def test_parameters_of_a_policys_dtype_are_gathered_again_for_the_backward_pass() -> None:
    module, before = perceptron(), programs()
    for each in (module[0], module[2], module[4], module):
        fully_shard(each, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
    train(module, 4)
    (found,) = [exchanges(each) for each in programs() if all(each is not other for other in before)]
    assert found == {"all-gather": 8, "reduce-scatter": 6}


class Reader(nn.Module):
    """Embeddings, attention over heads, layer normalisation; the sizes of some parameters do not divide."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(50, 24), nn.Embedding(12, 24)
        self.norm, self.heads, self.out = nn.LayerNorm(24), nn.Linear(24, 72), nn.Linear(24, 19, bias=False)

    def forward(self, words: Any) -> Any:
        x = self.words(words) + self.places(torch.arange(12))
        q, k, v = self.heads(self.norm(x)).view(-1, 12, 3, 4, 6).permute(2, 0, 3, 1, 4)
        x = x + nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        return self.out(x.mean(1))


def pictures() -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 10, 3, bias=False),
        nn.BatchNorm2d(10),
        nn.ReLU(),
        nn.Conv2d(10, 8, 3),
        nn.Flatten(),
        nn.Linear(128, 5),
    )


# The gradients of the weight and the bias of batch normalisation are sums that the gradient of its input needs on each device: those are
# reduced for all, and nothing is exchanged for the two. Without that there were seven of both.
@pytest.mark.parametrize(("kind", "exchanged", "for_all"), [("words", 7, None), ("pictures", 5, 6)])
def test_each_gradient_is_reduced_and_scattered_in_one_exchange(kind: str, exchanged: int, for_all: int | None) -> None:
    torch.manual_seed(5)
    data = torch.randint(0, 50, (16, 12)) if kind == "words" else torch.randn(16, 3, 8, 8)
    results = []
    for wrap in (lambda module: module, fully_shard):
        torch.manual_seed(6)
        module, before = wrap(Reader() if kind == "words" else pictures()), programs()
        optimizer = torch.optim.SGD(module.parameters(), 0.1)
        with torch.engine.compiling("now"):
            for _ in range(2):
                loss = module(data).square().mean()
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                loss.item()
        results.append([each.tolist() for each in module.parameters()])
        young = [exchanges(each) for each in programs() if all(each is not other for other in before)]
    assert sum(each["reduce-scatter"] for each in young) == exchanged
    assert for_all is None or sum(each["all-reduce"] for each in young) == for_all
    for mine, theirs in zip(*results, strict=True):
        assert torch.allclose(torch.tensor(mine), torch.tensor(theirs), atol=1e-5)


def test_parameters_are_cut_along_the_dimension_that_is_asked_for() -> None:
    module = fully_shard(perceptron(), shard_placement_fn=lambda parameter: Shard(parameter.dim() - 1))
    assert [each.placements for each in module.parameters()] == [(Shard(1),), (Shard(0),)] * 3
    assert torch.allclose(module(torch.ones(8, 24)), perceptron()(torch.ones(8, 24)), atol=1e-6)


def bytes_on(device: int, tensors: Any) -> int:
    total = 0
    for tensor in tensors:
        array = tensor._value().finish()
        total += sum(shard.data.nbytes for shard in array.addressable_shards if shard.device.id == device)
    return total


def test_each_device_keeps_an_eighth_of_parameters_gradients_and_state() -> None:
    module = fully_shard(perceptron())
    assert (
        isinstance(module, FSDPModule)
        and isinstance(module, nn.Sequential)
        and type(module).__name__ == "FSDPSequential"
    )
    _, optimizer, _ = train(module, 2)
    nn.functional.cross_entropy(module(torch.randn(32, 24)), torch.randint(0, 16, (32,))).backward()
    parameters: list[Any] = list(module.parameters())
    assert (
        [each.placements for each in parameters] == [each.grad.placements for each in parameters] == [(Shard(0),)] * 6
    )
    state = [each for own in optimizer.state.values() for name, each in own.items() if name != "step"]
    whole = sum(each.nbytes for each in perceptron().parameters())
    for device in range(8):
        assert bytes_on(device, parameters) == pytest.approx(whole / 8, rel=0.02)
        assert bytes_on(device, [each.grad for each in parameters]) == bytes_on(device, parameters)
        assert bytes_on(device, state) == 2 * bytes_on(device, parameters)


def test_what_does_not_divide_is_padded_and_unchanged() -> None:
    found = []
    for wrap in (lambda module: module, lambda module: fully_shard(module, reshard_after_forward=True)):
        torch.manual_seed(3)
        module = wrap(nn.Sequential(nn.Linear(5, 11), nn.BatchNorm1d(11), nn.Linear(11, 3)))
        optimizer = torch.optim.SGD(module.parameters(), 0.1, momentum=0.9)
        losses = []
        for inputs in torch.randn(3, 7, 5):  # a batch of seven
            loss = module(inputs).square().mean()
            loss.backward()
            nn.utils.clip_grad_norm_(module.parameters(), 0.1)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
        found.append((losses, [each.tolist() for each in module.state_dict().values()]))
    (mine, states), (theirs, others) = found
    assert mine == pytest.approx(theirs, abs=1e-6)
    assert all(torch.allclose(torch.tensor(a), torch.tensor(b), atol=1e-6) for a, b in zip(states, others, strict=True))


def test_mixed_precision_computes_in_the_other_dtype_and_keeps_the_parameters() -> None:
    seen = []
    module = perceptron()
    module[1].register_forward_hook(lambda owner, inputs, output: seen.append(output.dtype))
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32, torch.float32)
    fully_shard(module, mp_policy=policy)
    output = module(torch.randn(8, 24))
    output.sum().backward()
    parameter: Any = module[0].weight
    assert seen == [torch.bfloat16] and output.dtype == torch.float32
    assert parameter.dtype == parameter.grad.dtype == torch.float32 and parameter.grad.placements == (Shard(0),)


def test_parameters_are_whole_between_unshard_and_reshard() -> None:
    module = fully_shard(perceptron())
    piece: Any = module[0].weight
    handle = module.unshard(async_op=True)
    handle.wait()
    assert module[0].weight.placements == (Replicate(),) and module[0].weight is not piece
    before = module(torch.ones(8, 24)).tolist()
    module.reshard()
    assert module[0].weight is piece and module(torch.ones(8, 24)).tolist() == before
    module.set_requires_gradient_sync(False)
    module.set_reshard_after_forward(True)
    assert module._fsdp_state.reshard


def test_other_methods_may_see_whole_parameters_too() -> None:
    class Model(nn.Linear):
        def project(self, x: Any) -> Any:
            self.seen = self.weight.placements  # pyright: ignore[reportAttributeAccessIssue]
            return self(x)

    module: Any = fully_shard(Model(4, 8))
    register_fsdp_forward_method(module, "project")
    module.project(torch.ones(8, 4))
    assert module.seen == (Replicate(),)


def test_a_state_dict_goes_in_and_out() -> None:
    plain, module = perceptron(), fully_shard(perceptron())
    with torch.no_grad():
        for each in plain.parameters():
            each.add_(1.0)
    module.load_state_dict(plain.state_dict())
    for mine, theirs in zip(module.state_dict().values(), plain.state_dict().values(), strict=True):
        assert isinstance(mine, DTensor) and torch.equal(mine.full_tensor(), theirs)
    assert [each.placements for each in module.parameters()] == [(Shard(0),)] * 6


def test_what_is_wrong_or_missing_is_named() -> None:
    module = fully_shard(nn.Linear(2, 2))
    with pytest.raises(
        AssertionError, match="Each distinct composable distributed API can only be applied to a module once"
    ):
        fully_shard(module)
    with pytest.raises(
        ValueError, match="fully_shard does not support containers that do not implement forward: ModuleList"
    ):
        fully_shard(nn.ModuleList([nn.Linear(1, 1)]))
    with pytest.raises(NotImplementedError, match="FSDPModule.set_gradient_divide_factor"):
        module.set_gradient_divide_factor(2.0)
    with pytest.raises(NotImplementedError, match="CPUOffloadPolicy"):
        fully_shard(nn.Linear(2, 2), offload_policy=CPUOffloadPolicy())
    with pytest.raises(NotImplementedError, match="reshard_after_forward"):
        fully_shard(nn.Linear(2, 2), reshard_after_forward=4)
