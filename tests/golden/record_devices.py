"""Records devices.json: losses of PyTorch's fully_shard and parallelize_module in several processes.

    python tests/golden/record_devices.py

The program starts itself with torchrun and Gloo for each kind and number of processes, and writes the losses that the first one prints.
"""

import json
import subprocess
import sys
from pathlib import Path

KINDS = (("fsdp", 2), ("fsdp", 4), ("tp", 4), ("2d", 4))


def train(kind: str) -> list[float]:
    """Returns twelve losses, each the mean of all processes'."""
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(24, 64), nn.Tanh(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 16))
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel(), "4": ColwiseParallel(output_layouts=Replicate())}
    parts, part = size, rank
    if kind == "fsdp":
        fully_shard(model, mesh=init_device_mesh("cpu", (size,)))
    elif kind == "tp":
        parallelize_module(model, init_device_mesh("cpu", (size,)), plan)
        parts, part = 1, 0
    else:
        mesh = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("dp", "tp"))
        parallelize_module(model, mesh["tp"], plan)
        fully_shard(model, mesh=mesh["dp"])
        parts, part = 2, mesh.get_local_rank("dp")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    torch.manual_seed(2)
    inputs, targets, losses = torch.randn(12, 32, 24), torch.randint(0, 16, (12, 32)), []
    for x, y in zip(inputs, targets, strict=True):
        loss = nn.functional.cross_entropy(model(x.chunk(parts)[part]), y.chunk(parts)[part])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(total.item() / size)
    dist.destroy_process_group()
    return losses if rank == 0 else []


def main() -> None:
    here = Path(__file__)
    recorded = {}
    for kind, size in KINDS:
        command = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node",
            str(size),
            str(here),
            kind,
        ]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        recorded[f"{kind} {size}"] = json.loads(next(line for line in text.splitlines() if line.startswith("[2.")))
    (here.parent / "devices.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        found = train(sys.argv[1])
        if found:
            print(json.dumps(found))
    else:
        main()
