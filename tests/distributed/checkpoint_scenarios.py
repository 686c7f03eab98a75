"""Scenarios that save and load in several processes, in torchlike."""

from __future__ import annotations

import importlib
import os
from typing import Any

from tests.distributed.dtensor_scenarios import mesh_of, parts_of, sharded
from tests.distributed.scenarios import attempt, batches, train_step

SHAPES = {"even": (8, 6), "uneven": (11, 3), "short": (3,), "bfloat16": (8, 2), "int64": (9,), "columns": (5, 7)}


def whole_tensors(torch: Any, seed: int) -> dict[str, Any]:
    torch.manual_seed(seed)
    found = {name: torch.randn(shape) for name, shape in SHAPES.items()}
    return found | {"bfloat16": found["bfloat16"].to(torch.bfloat16), "int64": torch.arange(9) * 2**40 + seed}


def _spread(torch: Any, seed: int) -> dict[str, Any]:
    t = parts_of(torch)
    return {
        name: t.distribute_tensor(tensor, mesh_of(torch), [t.Shard(1) if name == "columns" else t.Shard(0)])
        for name, tensor in whole_tensors(torch, seed).items()
    } | {"copies": t.distribute_tensor(torch.ones(2) * seed, mesh_of(torch)), "plain": torch.ones(3) * seed}


def saved(torch: Any, folder: str, seed: int, fails: bool = False) -> str | None:
    """Saves tensors of all kinds; with ``fails`` the last process cannot write."""
    checkpoint = importlib.import_module("torchlike.distributed.checkpoint")
    replace = os.replace
    last = torch.distributed.get_rank() == torch.distributed.get_world_size() - 1

    def interrupted(*names: Any) -> None:
        raise OSError("the disk is full")

    if fails and last:
        os.replace = interrupted
    try:
        state = {"tensors": _spread(torch, seed), "step": seed}
        save = checkpoint.save if seed % 2 else lambda *a, **k: checkpoint.async_save(*a, **k).result()
        with_error: list[str] = []
        try:
            save(state, checkpoint_id=folder)
        except checkpoint.CheckpointException as error:
            with_error.append(str(sorted(error.failures)))
        return with_error[0] if with_error else None
    finally:
        os.replace = replace


def loaded(torch: Any, folder: str, seed: int) -> list[Any]:
    """What differs from what was saved, and how tensors are spread after loading."""
    checkpoint = importlib.import_module("torchlike.distributed.checkpoint")
    state: dict[str, Any] = {"tensors": _spread(torch, 100), "step": 0}
    layouts = [str(each.placements) for each in state["tensors"].values() if hasattr(each, "placements")]
    checkpoint.load(state, checkpoint_id=folder)
    expected = whole_tensors(torch, seed) | {"copies": torch.ones(2) * seed, "plain": torch.ones(3) * seed}
    found = {n: each.full_tensor() if n != "plain" else each for n, each in state["tensors"].items()}
    differing = [name for name, tensor in expected.items() if not torch.equal(found[name], tensor)]
    after = [str(each.placements) for each in state["tensors"].values() if hasattr(each, "placements")]
    return [differing, state["step"], layouts == after]


def trained(torch: Any, folder: str, saves: bool) -> list[float]:
    """Losses of two steps after a checkpoint of a model and its optimizer, which is saved or loaded."""
    helpers = importlib.import_module("torchlike.distributed.checkpoint.state_dict")
    checkpoint = importlib.import_module("torchlike.distributed.checkpoint")
    model = sharded(torch, "layers")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    batch = batches(torch, 1)[0]
    if saves:
        train_step(torch, model, optimizer, *batch)
    of_model, of_optimizer = helpers.get_state_dict(model, optimizer)
    state = {"model": of_model, "optimizer": of_optimizer}
    (checkpoint.save if saves else checkpoint.load)(state, checkpoint_id=folder)
    helpers.set_state_dict(model, optimizer, model_state_dict=of_model, optim_state_dict=of_optimizer)
    options = helpers.StateDictOptions(full_state_dict=True)
    full = helpers.get_model_state_dict(model, options=options)
    helpers.set_model_state_dict(model, of_model)
    assert attempt(lambda: model.load_state_dict(of_model)) is None
    total = sum(each.double().abs().sum().item() for each in full.values())
    return [total, *(train_step(torch, model, optimizer, *batch) for _ in range(2))]
