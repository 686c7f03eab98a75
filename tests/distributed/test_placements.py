"""Placements of tensors on meshes, as libraries build and compare them."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

import torchlike as torch
from torchlike.distributed.tensor import Partial, Placement, Replicate, Shard

pytestmark = pytest.mark.recorded


def test_placements_are_compared_asked_and_printed_as_pytorchs():
    shard = Shard(-1)
    assert shard == Shard(-1) != Shard(0) and hash(shard) == hash(Shard(-1)) and isinstance(shard, Placement)
    assert [shard.is_shard(), shard.is_shard(-1), shard.is_shard(0)] == [True, True, False]
    assert [p.is_replicate() for p in (shard, Replicate(), Partial())] == [False, True, False]
    assert [Partial().is_partial(), Partial("avg").is_partial("sum"), shard.is_partial()] == [True, False, False]
    assert [repr(p) for p in (shard, Replicate(), Partial())] == ["Shard(dim=-1)", "Replicate()", "Partial(sum)"]
    assert [str(p) for p in (shard, Replicate(), Partial("avg"))] == ["S(-1)", "R", "P(avg)"]
    with pytest.raises(FrozenInstanceError):
        shard.dim = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_libraries_find_reductions_by_either_name():
    reductions: Any = torch.distributed.ReduceOp
    assert reductions.RedOpType.SUM == torch.distributed.ReduceOp.SUM
    assert torch.distributed.tensor.Shard is Shard
