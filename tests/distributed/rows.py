"""The scenarios that the processes of the tests run, with arguments. PyTorch's results are recorded."""

from typing import Any

from tests.distributed.processes import Processes

SIZES = (2, 4)
ROWS: dict[str, tuple[Any, ...]] = {
    "reductions": ("reductions",),
    "movements": ("movements",),
    "uneven": ("uneven",),
    "objects": ("objects",),
    "messages": ("messages",),
    "groups": ("groups",),
    "refusals": ("refusals",),
    "training": ("training", "plain", "plain"),
    "accumulation": ("training", "plain", "no_sync", 3),
    "accumulation without no_sync": ("training", "plain", "plain", 3),
    "batch norm": ("training", "norm", "plain"),
    "rank-dependent reads": ("training", "plain", "read"),
    "unused": ("unused",),
    "uneven batches": ("uneven_batches", "norm", True),
    "uneven batches divided by those that have some": ("uneven_batches", "plain", False),
    "hooks of gradients": ("hooks_of_gradients",),
    "meshes": ("meshes",),
    "FSDP": ("fully_sharded", "FULL_SHARD", "layers"),
    "FSDP of one unit": ("fully_sharded", "SHARD_GRAD_OP", "one"),
    "FSDP that spreads nothing": ("fully_sharded", "NO_SHARD", "layers"),
    "FSDP in pairs": ("fully_sharded", "HYBRID_SHARD", "layers"),
    "FSDP with original parameters": ("fully_sharded", "FULL_SHARD", "layers", True),
    "FSDP with no_sync": ("fully_sharded", "FULL_SHARD", "layers", False, 3, False),
    "FSDP's states": ("fully_sharded_states", True),
    "FSDP's refusals": ("fully_sharded_refusals",),
    "fully_shard": ("by_fully_shard", "layers"),
    "fully_shard of one unit": ("by_fully_shard", "one", 1, True),
    "fully_shard in two copies": ("by_fully_shard", "layers", 2),
    "fully_shard with accumulation": ("by_fully_shard", "layers", 1, None, 3),
    "fully_shard without exchanges": ("by_fully_shard", "layers", 1, None, 3, False),
    "fully_shard's states": ("states_of_pieces",),
    "fully_shard's unused parameters": ("unused_pieces",),
    "DTensors": ("dtensors",),
    "DTensors that are computed with": ("computed",),
    "DTensors on a grid": ("computed", True),
    "modules of DTensors": ("spread_modules",),
    "tensor parallelism": ("by_plan", False),
    "tensor parallelism along the sequence": ("by_plan", True),
    "tensor parallelism and a loss of pieces": ("by_plan", True, True),
    "tensor parallelism with fully_shard": ("by_plan", True, False, 2),
}
# What two processes would say in one dimension.
OF_FOUR = {"DTensors on a grid", "tensor parallelism with fully_shard"}
# What four processes would say again.
OF_TWO = {
    "fully_shard of one unit",
    "fully_shard with accumulation",
    "tensor parallelism along the sequence",
}


def everything(framework: str) -> dict[str, Any]:
    """Returns the results of all processes for all rows."""
    answers = {}
    for size in SIZES:
        processes = Processes(size, framework)
        rows = ((row, call) for row, call in ROWS.items() if row not in {2: OF_FOUR, 4: OF_TWO}[size])
        answers |= {f"{size}/{row}": processes.run(*call) for row, call in rows}
        processes.close()
    return answers
