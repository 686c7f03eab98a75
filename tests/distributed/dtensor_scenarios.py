"""Scenarios with DTensors and fully_shard over several processes, in torchlike and in PyTorch."""

from __future__ import annotations

import importlib
from typing import Any

from tests.distributed.fully_sharded import exchanges_of_steps, in_short, network
from tests.distributed.scenarios import attempt, batches, fill, listed, train_step


def parts_of(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.distributed.tensor")


def fsdp_of(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.distributed.fsdp")


def mesh_of(torch: Any, copies: int = 1) -> Any:
    dist = torch.distributed
    size = dist.get_world_size()
    if copies == 1:
        return dist.init_device_mesh("cpu", (size,))
    return dist.init_device_mesh("cpu", (copies, size // copies), mesh_dim_names=("copies", "pieces"))


def sharded(torch: Any, units: str, copies: int = 1, **options: Any) -> Any:
    """The network: "one" unit, or "layers" for each linear layer and the rest."""
    fully_shard, mesh = fsdp_of(torch).fully_shard, mesh_of(torch, copies)
    model = network(torch)
    fill(torch, model, seed=0)
    if units == "layers":
        for each in list(model.modules()):
            if isinstance(each, torch.nn.Linear):
                fully_shard(each, mesh=mesh, **options)
    return fully_shard(model, mesh=mesh, **options)


def by_fully_shard(
    torch: Any, units: str, copies: int = 1, reshard: bool | None = None, every: int = 1, synchronise: bool = True
) -> dict[str, Any]:
    """Losses, norms of gradients, pieces and final parameters; the gradients of ``every`` batches are added up for a step."""
    model = sharded(torch, units, copies, reshard_after_forward=reshard)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses, norms = [], []
    for number, (x, y) in enumerate(batches(torch, 12)):
        waits = (number + 1) % every
        model.set_requires_gradient_sync(synchronise or not waits)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        if not waits:
            norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5).full_tensor())
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss)
    state = [each for own in optimizer.state.values() for name, each in own.items() if name != "step"]
    return {
        "losses": [loss.item() for loss in losses],
        "norms": [norm.item() for norm in norms],
        "names": [[name, list(p.shape), list(p.to_local().shape)] for name, p in model.named_parameters()],
        "kinds": [type(model).__name__, [isinstance(p, parts_of(torch).DTensor) for p in model.parameters()]],
        "state": {name: in_short(value.full_tensor()) for name, value in model.state_dict().items()},
        "optimizer": [[list(each.shape), list(each.to_local().shape)] for each in state],
        "moments": [in_short(each.full_tensor()) for each in state],
    }


def states_of_pieces(torch: Any) -> dict[str, Any]:
    """State dictionaries of DTensors in and out, and steps after it."""
    model = sharded(torch, "layers")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

    def step(model: Any, optimizer: Any) -> float:
        return train_step(torch, model, optimizer, *batches(torch, 1)[0])

    losses = [step(model, optimizer) for _ in range(2)]
    other = sharded(torch, "one")
    loaded = other.load_state_dict(model.state_dict())
    other_optimizer = torch.optim.Adam(other.parameters(), lr=0.5)
    other_optimizer.load_state_dict(optimizer.state_dict())
    losses += [step(model, optimizer), step(other, other_optimizer), step(other, other_optimizer)]
    plain = network(torch)
    return {
        "losses": losses,
        "keys": [list(loaded.missing_keys), list(loaded.unexpected_keys)],
        "mixed": str(attempt(lambda: other.load_state_dict(plain.state_dict())))[:12],
        "again": str(attempt(lambda: fsdp_of(torch).fully_shard(other)))[:60],
    }


def unused_pieces(torch: Any) -> dict[str, Any]:
    """Gradients where a module is not called, and between unshard and reshard."""
    nn, fully_shard = torch.nn, fsdp_of(torch).fully_shard

    class Halves(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(3, 5), nn.Linear(3, 5)

        def forward(self, x: Any) -> Any:
            return self.a(x)

    model = Halves()
    fill(torch, model, seed=1)
    fully_shard(model, mesh=mesh_of(torch))
    x = torch.ones(2, 3) * (torch.distributed.get_rank() + 1)
    model(x).sum().backward()
    grads = [None if p.grad is None else listed(p.grad.full_tensor()) for p in model.parameters()]
    model.unshard()
    shapes = [list(model.a.weight.shape), isinstance(model.a.weight, parts_of(torch).DTensor)]
    model.reshard()
    return {
        "grads": grads,
        "whole": shapes,
        "piece": [list(model.a.weight.to_local().shape), repr(model.a.weight.placements)],
    }


def dtensors(torch: Any) -> dict[str, Any]:
    """Tensors that are spread, gathered, moved, computed with elementwise, and reduced."""
    t, dist = parts_of(torch), torch.distributed
    rank, mesh = dist.get_rank(), mesh_of(torch)
    shard, copy = t.Shard(0), t.Replicate()
    whole = torch.arange(21.0).reshape(7, 3) + (0 if rank == 0 else 100)  # the first process's is used
    x = t.distribute_tensor(whole, mesh, [shard])
    columns = x.redistribute(placements=[t.Shard(1)])
    y = t.DTensor.from_local(torch.full((2, 2), float(rank)), mesh, [shard])
    leaf = t.distribute_tensor(torch.arange(6.0).requires_grad_(), mesh, [shard])
    (leaf.to_local() * (rank + 1)).sum().backward()
    other = t.distribute_tensor(torch.arange(6.0).requires_grad_(), mesh, [shard])
    (other.full_tensor() * torch.arange(6.0)).sum().backward()
    twice = t.distribute_tensor(torch.arange(6.0).requires_grad_(), mesh, [shard])
    (gradient,) = torch.autograd.grad((twice * twice).to_local().sum(), twice)
    twice.data.add_(gradient, alpha=-0.25)
    z = (x * 2 + 1 - x / 4).clamp(max=20.0)
    with torch.no_grad():
        z.mul_(0.5)
        z += x
    results = {
        "facts": [
            list(x.shape),
            x.dim(),
            x.numel(),
            list(x.size()),
            repr(x.placements),
            isinstance(x, t.DTensor),
            x.is_leaf,
        ],
        "local": [
            listed(x.to_local()),
            listed(columns.to_local()),
            listed(x.redistribute(placements=[copy]).to_local()),
        ],
        "whole": [listed(x.full_tensor()), listed(columns.full_tensor()), listed(y.full_tensor())],
        "grads": [listed(leaf.grad.full_tensor()), listed(other.grad.full_tensor()), repr(leaf.grad.placements)],
        "computed": [listed(z.full_tensor()), listed(torch.zeros_like(x).full_tensor()), str((x > 3).dtype)],
        "reduced": [
            listed(each.full_tensor())
            for each in (x.sum(), x.mean(), x.norm(), x.norm(float("inf")), torch.linalg.vector_norm(x, 3), x.max())
        ],
        "by hand": [listed(gradient.full_tensor()), listed(twice.full_tensor()), f"{x.sum().full_tensor():.2f}"],
        "stride": [list(x.stride()), x.stride(0), list(columns.stride())],
        "text": repr(x).replace("\n", "").replace(" ", ""),
        "zeros": listed(t.zeros(3, 2, device_mesh=mesh, placements=[shard]).full_tensor()),
        "mixed": [attempt(lambda: x + whole), attempt(lambda: whole.copy_(x))],
        "placements": attempt(lambda: t.distribute_tensor(whole, mesh, [shard, shard])),
        "leaf": attempt(lambda: t.distribute_tensor(whole.requires_grad_() * 2, mesh, [shard])),
    }
    grid = mesh_of(torch, 2)
    both = t.distribute_tensor(torch.arange(12.0).reshape(4, 3), grid, [t.Shard(0), t.Shard(1)])
    return results | {"grid": [listed(both.to_local()), listed(both.full_tensor())]}


# ---- torchlike alone


def refused_of_pieces(torch: Any) -> dict[str, Any]:
    t = parts_of(torch)
    x = t.distribute_tensor(torch.ones(4, 4), mesh_of(torch), [t.Shard(0)])
    leaf = t.distribute_tensor(torch.ones(4, 4).requires_grad_(), mesh_of(torch), [t.Shard(0)])
    calls = {
        "numbers": lambda: x.tolist(),
        "array": lambda: x.numpy(),
        "jax": lambda: x.jax,
        "dlpack": lambda: x.__dlpack__(),
        "inverse": lambda: torch.linalg.inv(x),
        "lists of places": lambda: x[[0, 1]],
        "vmap": lambda: torch.vmap(lambda row: row.sum())(x),
        "grad": lambda: torch.func.grad(lambda x: (x * x).sum())(x),
        "hook": lambda: leaf.register_hook(print),
        "pickle": lambda: __import__("pickle").dumps(x),
        "muon": lambda: torch.optim.Muon([leaf]),
        "lbfgs": lambda: torch.optim.LBFGS([leaf]),
        "adafactor": lambda: torch.optim.Adafactor([leaf]),
        "unequal pieces of pieces": lambda: t.distribute_tensor(
            torch.ones(6, 1), mesh_of(torch, 2), [t.Shard(0), t.Shard(0)]
        ),
    }
    if torch.distributed.get_world_size() < 4:
        calls.pop("unequal pieces of pieces")  # its mesh has one process in a column
    return {name: attempt(call) for name, call in calls.items()}


def exchanges_of_fully_shard(torch: Any, reshard: bool) -> dict[str, Any]:
    """The exchanges in the program of a step by kind, compilations after the third step, and bytes of parameters and state."""
    model = sharded(torch, "layers", reshard_after_forward=reshard)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    found = exchanges_of_steps(torch, model, optimizer, lambda: next(model.parameters()).to_local().sum().item())
    state = [value for own in optimizer.state.values() for name, value in own.items() if name != "step"]
    return found | {
        "parameters": sum(parameter.to_local().nbytes for parameter in model.parameters()),
        "state": sum(value.to_local().nbytes for value in state),
        "whole": sum(parameter.nbytes for parameter in network(torch).parameters()),
    }


def fully_shard_in_bfloat16(torch: Any) -> dict[str, Any]:
    """What the modules see, and the losses beside those of full precision."""
    fsdp, seen, losses = fsdp_of(torch), [], []
    for policy in (
        fsdp.MixedPrecisionPolicy(),
        fsdp.MixedPrecisionPolicy(torch.bfloat16, torch.float32, torch.float32),
    ):
        model = sharded(torch, "layers", mp_policy=policy)
        model[0].register_forward_hook(lambda owner, inputs, output: seen.append(str(output.dtype)))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in batches(torch, 6):
            losses.append(train_step(torch, model, optimizer, x, y))
        seen.append(str(next(model.parameters()).dtype))
    return {
        "seen": list(dict.fromkeys(seen)),
        "apart": max(abs(a - b) for a, b in zip(losses[:6], losses[6:], strict=True)),
    }
