"""Scenarios with FullyShardedDataParallel for several processes, in torchlike and in PyTorch."""

from __future__ import annotations

import importlib
import re
import warnings
from typing import Any

import numpy as np

from tests.distributed.scenarios import attempt, batches, fill, listed, programs_of_steps, train_step


def fsdp_of(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.distributed.fsdp")


def network(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(6, 11), nn.Tanh(), nn.Sequential(nn.Linear(11, 7), nn.Tanh()), nn.Linear(7, 3))


def wrapped(torch: Any, strategy: str, units: str, **options: Any) -> Any:
    """The network in units: "one" for all, "layers" for each linear layer and the rest."""
    fsdp = fsdp_of(torch)
    policies = importlib.import_module(f"{torch.__name__}.distributed.fsdp.wrap")
    model = network(torch)
    fill(torch, model, seed=0)
    policy: Any = None
    if units == "layers":
        policy = policies.ModuleWrapPolicy({torch.nn.Linear})
    if strategy in ("HYBRID_SHARD", "_HYBRID_SHARD_ZERO2"):
        options["process_group"] = hybrid_groups(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns on machines without accelerators
        return fsdp.FullyShardedDataParallel(
            model,
            sharding_strategy=getattr(fsdp.ShardingStrategy, strategy),
            auto_wrap_policy=policy,
            device_id=torch.device("cpu"),
            **options,
        )


def in_short(value: Any) -> list[Any]:
    """The shape of a tensor, the sum of its elements and that of their squares."""
    return [list(value.shape), listed(value.double().sum()), listed(value.double().square().sum())]


def hybrid_groups(torch: Any) -> tuple[Any, Any]:
    """Pairs of processes over which units are spread, and the processes with the same part."""
    dist = torch.distributed
    rank, size = dist.get_rank(), dist.get_world_size()
    pairs = [dist.new_group([n, n + 1]) for n in range(0, size, 2)]
    alike = [dist.new_group(list(range(n, size, 2))) for n in range(2)]
    return pairs[rank // 2], alike[rank % 2]


def fully_sharded(
    torch: Any, strategy: str, units: str, original: bool = False, every: int = 1, synchronise: bool = True
) -> dict[str, Any]:
    """Losses, norms of gradients and final parameters; the gradients of ``every`` batches are added up for a step."""
    model = wrapped(torch, strategy, units, use_orig_params=original)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses, norms = [], []
    for number, (x, y) in enumerate(batches(torch, 12)):
        waits = (number + 1) % every
        with model.no_sync() if waits and not synchronise else warnings.catch_warnings():
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
        if not waits:
            norms.append(model.clip_grad_norm_(0.5))
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss)
    return {
        "losses": [loss.item() for loss in losses],
        "norms": [norm.item() for norm in norms],
        "names": [[name, list(parameter.shape)] for name, parameter in model.named_parameters()],
        "state": {name: in_short(value) for name, value in model.state_dict().items()},
    }


def fully_sharded_states(torch: Any, original: bool) -> dict[str, Any]:
    """State dictionaries of a model and an optimizer, before and after they went into others of another wrapping."""
    fsdp, dist = fsdp_of(torch), torch.distributed
    owner: Any = fsdp.FullyShardedDataParallel
    model = wrapped(torch, "FULL_SHARD", "layers", use_orig_params=original)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)

    def step(model: Any, optimizer: Any) -> float:
        return train_step(torch, model, optimizer, *batches(torch, 1)[0])

    losses = [step(model, optimizer) for _ in range(3)]
    kinds = fsdp.StateDictType.FULL_STATE_DICT, fsdp.FullStateDictConfig(rank0_only=True)
    with owner.state_dict_type(model, *kinds, fsdp.FullOptimStateDictConfig(rank0_only=True, offload_to_cpu=False)):
        mine = len(model.state_dict()), len(owner.optim_state_dict(model, optimizer))
    everything = model.state_dict()
    with owner.state_dict_type(
        model, kinds[0], fsdp.FullStateDictConfig(), fsdp.FullOptimStateDictConfig(offload_to_cpu=False)
    ):
        of_optimizer = owner.optim_state_dict(model, optimizer)
    # PyTorch shares a number among the parameters of a unit, and an optimizer that loads it would count it up for each of them.
    of_optimizer["state"] = {
        name: {key: value.clone() for key, value in state.items()} for name, state in of_optimizer["state"].items()
    }
    sums = {
        name: {key: listed(value.double().sum()) for key, value in sorted(state.items())}
        for name, state in sorted(of_optimizer["state"].items())
    }
    other = wrapped(torch, "SHARD_GRAD_OP", "one", use_orig_params=not original)
    other.load_state_dict(everything)
    other_optimizer = torch.optim.AdamW(other.parameters(), lr=0.5)
    other_optimizer.load_state_dict(owner.optim_state_dict_to_load(other, other_optimizer, of_optimizer))
    further = [step(model, optimizer), step(other, other_optimizer), step(other, other_optimizer)]
    with owner.summon_full_params(other):
        named = [[name, list(parameter.shape)] for name, parameter in other.named_parameters()]
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.fill_(0.25)
    return {
        "losses": losses + further,
        "mine": list(mine),
        "model": {name: in_short(value) for name, value in everything.items()},
        "optimizer": sums,
        "groups": [sorted(group["params"]) for group in of_optimizer["param_groups"]],
        "named": named,
        "filled": {name: listed(value.sum()) for name, value in other.state_dict().items()},
        "unexpected": attempt(lambda: other.load_state_dict({"nothing": torch.zeros(1)})),
        "root": [model.check_is_root(), model.module[0].check_is_root(), len(owner.fsdp_modules(model))],
        "inner": attempt(lambda: model.module[0].clip_grad_norm_(1.0)),
        "no_sync": attempt(lambda: model.module[0].no_sync().__enter__()),
        "rank": dist.get_rank(),
    }


def fully_sharded_refusals(torch: Any) -> dict[str, Any]:
    """The errors of modules that cannot be units, and of options that do not go together."""
    owner, nn = fsdp_of(torch).FullyShardedDataParallel, torch.nn
    mixed = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double())
    frozen = nn.Linear(2, 2)
    frozen.bias.requires_grad_(False)
    where = {"device_id": torch.device("cpu")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "dtypes": attempt(lambda: owner(mixed, **where)),
            "frozen": attempt(lambda: owner(frozen, **where)),
            "ignored twice": attempt(lambda: owner(nn.Linear(2, 2), ignored_modules=[], ignored_states=[], **where)),
            "rank0 and write": attempt(
                lambda: owner.summon_full_params(
                    owner(nn.Linear(2, 2), **where), rank0_only=True, writeback=True
                ).__enter__()
            ),
        }


# ---- torchlike alone


def exchanges_of_steps(torch: Any, model: Any, optimizer: Any, wait: Any) -> dict[str, Any]:
    """The exchanges in the programs of a training step by kind, and compilations after its third round."""
    x, y = batches(torch, 1)[0]

    def step() -> None:
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()

    texts, report = programs_of_steps(torch, step, wait)
    kinds = ("all-gather", "all-reduce", "reduce-scatter")
    return {
        "exchanges": [{kind: len(re.findall(f" {kind}(?:-start)?\\(", text)) for kind in kinds} for text in texts],
        "compiled": report.compiles + report.op_compiles,
        "hot": report.hot,
    }


def fully_sharded_exchanges(torch: Any, strategy: str) -> dict[str, Any]:
    """The exchanges of a step, and bytes of parameters and state."""
    model = wrapped(torch, strategy, "layers")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    found = exchanges_of_steps(torch, model, optimizer, lambda: next(model.parameters()).sum().item())
    state = [value for own in optimizer.state.values() for name, value in own.items() if name != "step"]
    return found | {
        "parameters": sum(parameter.nbytes for parameter in model.parameters()),
        "state": sum(value.nbytes for value in state),
        "whole": sum(parameter.nbytes for parameter in network(torch).parameters()),
    }


def fully_sharded_in_bfloat16(torch: Any) -> dict[str, Any]:
    """What the modules see, and the losses beside those of full precision."""
    fsdp = fsdp_of(torch)
    seen, losses = [], []
    for precision in (None, fsdp.MixedPrecision(torch.bfloat16, torch.float32, torch.bfloat16)):
        model = wrapped(torch, "FULL_SHARD", "layers", mixed_precision=precision)
        if precision is not None:
            model.module[1].register_forward_hook(lambda owner, inputs, output: seen.append(str(output.dtype)))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        own = []
        for x, y in batches(torch, 6):
            loss = torch.nn.functional.cross_entropy(model(x).float(), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            own.append(loss.item())
        losses.append(own)
        if precision is not None:
            seen.append(str(next(model.parameters()).dtype))
    return {"seen": sorted(set(seen)), "losses": losses, "apart": float(np.abs(np.subtract(*losses)).max())}
