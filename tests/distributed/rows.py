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
    "meshes": ("meshes",),
    "FSDP": ("fully_sharded", "FULL_SHARD", "layers"),
    "FSDP of one unit": ("fully_sharded", "SHARD_GRAD_OP", "one"),
    "FSDP that spreads nothing": ("fully_sharded", "NO_SHARD", "layers"),
    "FSDP in pairs": ("fully_sharded", "HYBRID_SHARD", "layers"),
    "FSDP with original parameters": ("fully_sharded", "FULL_SHARD", "layers", True),
    "FSDP with no_sync": ("fully_sharded", "FULL_SHARD", "layers", False, 3, False),
    "FSDP's states": ("fully_sharded_states", True),
    "FSDP's refusals": ("fully_sharded_refusals",),
}


def everything(framework: str) -> dict[str, Any]:
    """Returns the results of all processes for all rows."""
    answers = {}
    for size in SIZES:
        processes = Processes(size, framework)
        answers |= {f"{size}/{row}": processes.run(*call) for row, call in ROWS.items()}
        processes.close()
    return answers
