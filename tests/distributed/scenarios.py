"""Scenarios for several processes, in torchlike and in PyTorch: each function returns the results of its process."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

DTYPES = ("float32", "float64", "bfloat16", "int32", "int64", "uint8", "bool", "complex64")
REDUCTIONS = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")


def listed(tensor: Any) -> Any:
    """Converts elements to values that JSON can hold."""
    return tensor.detach().to(tensor.real.dtype if tensor.is_complex() else tensor.dtype).tolist()


def attempt(call: Any) -> str | None:
    """Returns the error that a call raises."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\n")[0]
    return None


def part(torch: Any, dtype: str, rank: int, size: int = 3) -> Any:
    kind = getattr(torch, dtype)
    return (torch.arange(size) * 3 + rank * 2 + 1).to(kind) if dtype != "bool" else (torch.arange(size) + rank) % 2 == 0


def reductions(torch: Any) -> dict[str, Any]:
    dist, results = torch.distributed, {}
    rank = dist.get_rank()
    for dtype in DTYPES:
        for name in REDUCTIONS:
            tensor = part(torch, dtype, rank)
            error = attempt(lambda t=tensor, n=name: dist.all_reduce(t, op=getattr(dist.ReduceOp, n)))
            results[f"{dtype}/{name}"] = error or listed(tensor)
    return results


def movements(torch: Any) -> dict[str, Any]:
    """Runs each collective that moves tensors."""
    dist, results = torch.distributed, {}
    rank, size = dist.get_rank(), dist.get_world_size()
    for dtype in DTYPES:
        mine = part(torch, dtype, rank)
        got = [torch.zeros_like(mine) for _ in range(size)]
        dist.all_gather(got, mine)
        results[f"all_gather/{dtype}"] = [listed(t) for t in got]
        tensor = mine.clone()
        dist.broadcast(tensor, 1)
        results[f"broadcast/{dtype}"] = listed(tensor)
        rows = part(torch, dtype, rank, size * 2)
        out = torch.zeros_like(rows)
        dist.all_to_all_single(out, rows)
        results[f"all_to_all_single/{dtype}"] = listed(out)
    nan = torch.tensor([float("nan"), -0.0, float("inf")]) if rank == 0 else torch.zeros(3)
    dist.broadcast(nan, 0)
    results["broadcast/nan"] = [str(x) for x in nan.tolist()]
    x = torch.arange(4.0) + 10 * rank
    whole = torch.zeros(4 * size)
    dist.all_gather_into_tensor(whole, x)
    results["all_gather_into_tensor"] = listed(whole)
    out = torch.zeros(2)
    dist.reduce_scatter(out, [torch.full((2,), float(rank + n)) for n in range(size)])
    results["reduce_scatter"] = listed(out)
    dist.reduce_scatter_tensor(out, torch.arange(2.0 * size) * (rank + 1), op=dist.ReduceOp.SUM)
    results["reduce_scatter_tensor"] = listed(out)
    kept = x.clone()
    dist.reduce(kept, size - 1)
    results["reduce"] = listed(kept) if rank == size - 1 else None
    places = [torch.zeros(4) for _ in range(size)] if rank == 0 else None
    dist.gather(x, places, 0)
    results["gather"] = None if places is None else [listed(t) for t in places]
    mine = torch.zeros(4)
    dist.scatter(mine, [torch.full((4,), float(n)) for n in range(size)] if rank == 1 else None, src=1)
    results["scatter"] = listed(mine)
    got = [torch.zeros(2) for _ in range(size)]
    dist.all_to_all(got, [torch.full((2,), 10.0 * rank + n) for n in range(size)])
    results["all_to_all"] = [listed(t) for t in got]
    work = dist.all_reduce(x, async_op=True)
    results["async"] = [work.wait(), listed(x), work.is_completed()]
    return results


def uneven(torch: Any) -> dict[str, Any]:
    dist = torch.distributed
    rank, size = dist.get_rank(), dist.get_world_size()
    sent, taken = [n + 1 for n in range(size)], [rank + 1] * size
    out = torch.zeros(sum(taken), 2)
    dist.all_to_all_single(out, torch.arange(2.0 * sum(sent)).reshape(-1, 2) + 100 * rank, taken, sent)
    return {"all_to_all_single": listed(out)}


def objects(torch: Any) -> dict[str, Any]:
    dist = torch.distributed
    rank, size = dist.get_rank(), dist.get_world_size()
    everything: list[Any] = [None] * size
    dist.all_gather_object(everything, {"rank": rank})
    pair: list[Any] = ["a", rank] if rank == 1 else [None, None]
    dist.broadcast_object_list(pair, 1)
    places: list[Any] | None = [None] * size if rank == 0 else None
    dist.gather_object(rank * 2, places, 0)
    mine: list[Any] = [None]
    dist.scatter_object_list(mine, [f"for {n}" for n in range(size)] if rank == 0 else None, 0)
    if rank == 0:
        dist.send_object_list(["x", 3], 1)
    got: list[Any] = [None, None]
    if rank == 1:
        dist.recv_object_list(got, 0)
    return {"all_gather": everything, "broadcast": pair, "gather": places, "scatter": mine, "sent": got}


def messages(torch: Any) -> dict[str, Any]:
    """Sends messages between processes, receives them in another order than they were sent, and sends them in a ring."""
    dist = torch.distributed
    rank, size = dist.get_rank(), dist.get_world_size()
    results: dict[str, Any] = {}
    if rank == 0:
        sends = [dist.isend(torch.tensor([1.0, 2.0]), 1, tag=7), dist.isend(torch.tensor([3, 4]), 1, tag=8)]
        for work in sends:
            work.wait()
    elif rank == 1:
        second, first = torch.zeros(2, dtype=torch.int64), torch.zeros(2)
        results["from"] = dist.recv(second, 0, tag=8), dist.recv(first, tag=7)
        results["tags"] = listed(first), listed(second)
    taken, sent = torch.zeros(2), torch.full((2,), float(rank))
    works = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, sent, (rank + 1) % size), dist.P2POp(dist.irecv, taken, (rank - 1) % size)]
    )
    for work in works:
        work.wait()
    results["ring"] = listed(taken)
    return results


def groups(torch: Any) -> dict[str, Any]:
    dist = torch.distributed
    rank, size = dist.get_rank(), dist.get_world_size()
    last, first = dist.new_group([size - 1]), dist.new_group([0, size - 1])
    results: dict[str, Any] = {"ranks": [dist.get_rank(last), dist.get_rank(first), dist.get_world_size(first)]}
    x = torch.full((2,), float(rank + 1))
    dist.all_reduce(x)
    if rank in (0, size - 1):
        dist.all_reduce(x, group=first)
        dist.broadcast(x, size - 1, group=first)
        results["members"] = dist.get_process_group_ranks(first), dist.get_global_rank(first, 1)
    dist.all_reduce(x)
    results["sum"] = listed(x)
    mine, every = dist.new_subgroups(2)
    y = torch.tensor([float(rank)])
    dist.all_reduce(y, group=mine)
    results["pairs"] = listed(y), len(every)
    dist.barrier()
    return results


def refusals(torch: Any) -> dict[str, Any]:
    dist = torch.distributed
    rank = dist.get_rank()
    x = torch.ones(2)
    return {
        "scatter": attempt(lambda: dist.scatter(x, [x, x], src=1 - rank % 2)),
        "gather": attempt(lambda: dist.gather(x, [x, x], dst=1 - rank % 2)),
        "send": attempt(lambda: dist.send(x, rank)),
        "reduce": attempt(lambda: dist.reduce(x)),
        "outside": attempt(lambda: dist.new_group([0, 50])),
        "twice": attempt(lambda: dist.new_group([0, 0])),
        "tensor": attempt(lambda: dist.all_reduce([1.0])),
        "again": attempt(lambda: dist.init_process_group("gloo")),
        "band": attempt(lambda: dist.all_reduce(x, op=dist.ReduceOp.BAND)),
    }


# ---- training


def network(torch: Any, kind: str) -> Any:
    nn = torch.nn
    if kind == "norm":
        return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))


def fill(torch: Any, model: Any, seed: int) -> None:
    numbers = np.random.default_rng(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.tensor(numbers.standard_normal(tuple(parameter.shape)).astype(np.float32) * 0.5))


def batches(torch: Any, steps: int) -> list[tuple[Any, Any]]:
    """Returns this process's part of each batch."""
    rank = torch.distributed.get_rank()
    numbers = np.random.default_rng(100 + rank)
    return [
        (torch.tensor(numbers.standard_normal((4, 6)).astype(np.float32)), torch.tensor(numbers.integers(0, 3, 4)))
        for _ in range(steps)
    ]


def train_step(torch: Any, model: Any, optimizer: Any, x: Any, y: Any) -> float:
    """One step of training; the loss."""
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def training(torch: Any, kind: str, how: str, every: int = 1, steps: int = 12, **options: Any) -> dict[str, Any]:
    """Losses and final parameters of DistributedDataParallel; the gradients of ``every`` batches are added up for a step."""
    dist, nn = torch.distributed, torch.nn
    model = network(torch, kind)
    fill(torch, model, seed=dist.get_rank())  # the processes begin with different numbers, and process 0's are used
    if how == "sync_batchnorm":
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    model = nn.parallel.DistributedDataParallel(model, **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for number, (x, y) in enumerate(batches(torch, steps)):
        waits = (number + 1) % every
        if waits and how == "no_sync":
            with model.no_sync():
                loss = nn.functional.cross_entropy(model(x), y)
                loss.backward()
        else:
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
        if how == "read" and (number + dist.get_rank()) % 3 == 0:
            loss.item()  # in other steps in each process
        if not waits:
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss)
    return {
        "losses": [loss.item() for loss in losses],
        "parameters": [listed(p.sum()) for p in model.parameters()],
        "buffers": [listed(b.double().sum()) for b in model.buffers()],
        "names": list(model.state_dict()),
    }


class TwoPaths:
    """Made by ``two_paths``: a module of which a process may use only one half."""


def two_paths(torch: Any) -> Any:
    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = (torch.nn.Linear(2, 2) for _ in range(3))

        def forward(self, x: Any, both: bool) -> Any:
            return self.b(self.a(x)) if both else self.a(x)

    model = Two()
    fill(torch, model, seed=0)
    return model


def unused(torch: Any) -> dict[str, Any]:
    dist, parallel = torch.distributed, torch.nn.parallel.DistributedDataParallel
    rank = dist.get_rank()
    x = torch.ones(1, 2) * (rank + 1)
    model = parallel(two_paths(torch), find_unused_parameters=True)
    model(x, rank == 0).sum().backward()
    grads = [None if p.grad is None else listed(p.grad) for p in model.parameters()]
    strict = parallel(two_paths(torch))
    strict(x, True).sum().backward()
    error = None
    try:
        strict(x, True)
    except RuntimeError as raised:
        error = str(raised)
    return {"grads": grads, "error": error}


def uneven_batches(torch: Any, kind: str, by_all: bool, **options: Any) -> dict[str, Any]:
    """Training in which each process has another number of batches, and the errors of ``join``."""
    from importlib import import_module

    dist, nn = torch.distributed, torch.nn
    rank, size = dist.get_rank(), dist.get_world_size()
    model = network(torch, kind)
    fill(torch, model, seed=0)
    model = nn.parallel.DistributedDataParallel(model, **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    with model.join(divide_by_initial_world_size=by_all):
        for x, y in batches(torch, 2 + size - rank):
            losses.append(train_step(torch, model, optimizer, x, y))

    def early() -> None:
        with model.join(throw_on_early_termination=True):
            for x, y in batches(torch, 2 + rank):
                nn.functional.cross_entropy(model(x), y).backward()

    class Counter(import_module(f"{torch.__name__}.distributed.algorithms.join").Joinable):
        """Counts the batches of all processes."""

        join_device, join_process_group = torch.device("cpu"), dist.group.WORLD

        def __init__(self) -> None:
            super().__init__()
            self.total = 0

        def __call__(self) -> None:
            joins.Join.notify_join_context(self)
            count = torch.ones(1)
            dist.all_reduce(count)
            self.total += int(count.item())

        def join_hook(self, **kwargs: Any) -> Any:
            counter = self

            class Hook(joins.JoinHook):
                def main_hook(self) -> None:
                    dist.all_reduce(torch.zeros(1))

                def post_hook(self, is_last_joiner: bool) -> None:
                    counter.total += 100 * is_last_joiner

            return Hook()

    joins = import_module(f"{torch.__name__}.distributed.algorithms.join")
    counter = Counter()
    with joins.Join([counter]):
        for _ in range(2 + rank):
            counter()
    return {
        "losses": losses,
        "parameters": [listed(p.sum()) for p in model.parameters()],
        "buffers": [listed(b.double().sum()) for b in model.buffers()],
        "counted": counter.total,
        "nothing": attempt(lambda: joins.Join([])),
        "early": attempt(early),
    }


def hooks_of_gradients(torch: Any) -> dict[str, Any]:
    """Losses with communication hooks, and their errors."""
    from importlib import import_module

    nn, results = torch.nn, {}
    hooks = import_module(f"{torch.__name__}.distributed.algorithms.ddp_comm_hooks.default_hooks")

    def twice(state, bucket):  # PyTorch looks at annotations
        state.append(
            [
                bucket.index(),
                bucket.is_last(),
                len(bucket.gradients()),
                len(bucket.parameters()),
                list(bucket.buffer().shape),
            ]
        )
        return hooks.allreduce_hook(None, bucket).then(lambda done: done.value() * 2)

    seen: list[Any] = []
    for name, hook, state in (
        ("average", hooks.allreduce_hook, None),
        ("float16", hooks.fp16_compress_hook, None),
        ("wrapped", hooks.fp16_compress_wrapper(hooks.allreduce_hook), None),
        ("twice", twice, seen),
    ):
        model = network(torch, "plain")
        fill(torch, model, seed=0)
        model = nn.parallel.DistributedDataParallel(model)
        model.register_comm_hook(state, hook)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for x, y in batches(torch, 4):
            losses.append(train_step(torch, model, optimizer, x, y))
        results[name] = losses if name in ("average", "twice") else [round(each, 2) for each in losses]
    other = nn.parallel.DistributedDataParallel(network(torch, "plain"))

    def named(state: Any, bucket: int) -> Any: ...

    return results | {
        "seen": seen[:1],
        "again": attempt(lambda: model.register_comm_hook(None, twice)),
        "called": attempt(lambda: other.register_comm_hook(None, 3)),
        "named": attempt(lambda: other.register_comm_hook(None, named)),
    }


# ---- without a counterpart in PyTorch


def beyond_gloo(torch: Any) -> dict[str, Any]:
    """Calls that PyTorch's Gloo refuses, or computes wrongly: strided tensors, stacked outputs, lists of several sizes."""
    dist = torch.distributed
    rank, size = dist.get_rank(), dist.get_world_size()
    column = torch.zeros(4, 2)[:, 0]
    column += rank + 1
    dist.all_reduce(column)
    stacked = torch.zeros(size, 2)
    dist.all_gather_into_tensor(stacked, torch.full((2,), float(rank)))
    got = [torch.zeros(1 + (n + rank) % 2) for n in range(size)]
    dist.all_to_all(got, [torch.full((1 + (n + rank) % 2,), 10.0 * rank + n) for n in range(size)])
    late = torch.tensor([float(rank)])  # this process does not read it before another process needs it
    dist.all_reduce(late)
    del late
    dist.barrier()
    return {"strided": listed(column), "stacked": listed(stacked), "all_to_all": [listed(t) for t in got]}


def differentiable(torch: Any) -> dict[str, Any]:
    """Gradients of the sum of all processes' losses, each weighted by the process's number plus one."""
    from torchlike.distributed.nn import functional as F

    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    weight, results = float(rank + 1), {}

    def gradient(name: str, call: Any, *shape: int) -> None:
        x = (torch.ones(*shape) * (rank + 1)).requires_grad_()
        y = call(x)
        (y.sum() * weight).backward()
        results[name] = listed(y.sum()), listed(x.grad.sum())

    gradient("all_reduce", F.all_reduce, 2)
    gradient("broadcast", lambda x: F.broadcast(x, 1), 2)
    gradient("all_gather", lambda x: torch.cat(F.all_gather(x)), 2)
    gradient("reduce_scatter", lambda x: F.reduce_scatter(x[0], list(x.unbind())), size, 2)
    gradient("all_to_all_single", lambda x: F.all_to_all_single(torch.empty(size), x), size)
    gradient("reduce", lambda x: F.reduce(x, 0), 2)
    return results


def hooks_in_bfloat16(torch: Any) -> list[list[float]]:
    """Losses with gradients in full precision and in bfloat16, which PyTorch exchanges on accelerators alone."""
    from torchlike.distributed.algorithms.ddp_comm_hooks import default_hooks as hooks

    results = []
    for hook in (None, hooks.bf16_compress_hook, hooks.bf16_compress_wrapper(hooks.allreduce_hook)):
        model = network(torch, "plain")
        fill(torch, model, seed=0)
        model = torch.nn.parallel.DistributedDataParallel(model)
        if hook is not None:
            model.register_comm_hook(None, hook)
        optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
        for x, y in batches(torch, 4):
            losses.append(train_step(torch, model, optimizer, x, y))
        results.append(losses)
    return results


def sync_batch_norm(torch: Any) -> list[Any]:
    """Losses and statistics of this process's part with synchronised layers, and of the whole batch in one process."""
    nn, dist = torch.nn, torch.distributed
    size = dist.get_world_size()
    whole = network(torch, "norm")
    fill(torch, whole, seed=0)
    part_model = network(torch, "norm")
    fill(torch, part_model, seed=0)
    part_model = nn.parallel.DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(part_model))
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in (whole, part_model)]
    numbers = np.random.default_rng(5)
    losses: list[Any] = []
    for _ in range(4):
        x = torch.tensor(numbers.standard_normal((4 * size, 6)).astype(np.float32))
        y = torch.tensor(numbers.integers(0, 3, 4 * size))
        mine = slice(4 * dist.get_rank(), 4 * dist.get_rank() + 4)
        pair = []
        for model, data, target in ((whole, x, y), (part_model, x[mine], y[mine])):
            pair.append(nn.functional.cross_entropy(model(data), target))
            pair[-1].backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        mean = pair[1].detach().clone()
        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
        losses.append((pair[0].item(), mean.item()))
    states = [[listed(t.double().sum()) for t in model.state_dict().values()] for model in (whole, part_model)]
    return [losses, list(zip(*states, strict=True))]


def random_reads(torch: Any, steps: int) -> list[float]:
    """Losses of a loop in which each process reads values at random places; at none if ``steps`` is negative."""
    dist, nn = torch.distributed, torch.nn
    model = network(torch, "plain")
    fill(torch, model, seed=0)
    model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    choices = np.random.default_rng(dist.get_rank())
    losses = []
    for x, y in batches(torch, abs(steps)):
        place = choices.integers(0, 8) if steps > 0 else 8
        out = model(x)
        if place == 0:
            out.sum().item()
        loss = nn.functional.cross_entropy(out, y)
        if place == 1:
            loss.item()
        loss.backward()
        if place in (2, 3):
            (loss if place == 2 else model.module[0].weight.grad.sum()).item()
        optimizer.step()
        if place == 4:
            model.module[0].bias.sum().item()
        optimizer.zero_grad()
        losses.append(loss)
    return [loss.item() for loss in losses]


def programs_of_steps(torch: Any, step: Any, wait: Any) -> tuple[list[str], Any]:
    """The texts of the programs with exchanges that twelve steps compile, and the report from the fifth step on.

    ``wait`` is called at the end, and reads a value.
    """
    from torchlike.engine import program
    from torchlike.engine.collective import GroupExecutable

    before = set(map(id, (entry[2]() for entry in program._kept)))
    for number in range(12):
        step()
        if number == 3:
            torch.explain(reset=True)
    wait()
    made = [made for entry in program._kept if (made := entry[2]()) is not None and id(made) not in before]
    programs = [each._executable for each in made if isinstance(each._executable, GroupExecutable)]
    return [each.hlo() for each in programs], torch.explain()


def exchanges_of_a_step(torch: Any) -> list[Any]:
    """Returns the number of exchanges in the programs of a training step, and of compilations after its third round.

    The last number counts the operations that ask for each element from which gradient it comes.
    """
    from torchlike.engine.collective import exchanges

    nn = torch.nn
    model = nn.parallel.DistributedDataParallel(
        nn.Sequential(nn.Linear(7, 9), nn.Tanh(), nn.Linear(9, 2).double().float())
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    data = torch.randn(5, 7)

    def step() -> None:
        model(data).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    texts, report = programs_of_steps(torch, step, lambda: next(model.parameters()).sum().item())
    slow = sum(len(re.findall(r" (?:concatenate|pad)\(", text)) for text in texts)
    return [[exchanges(text) for text in texts], report.compiles + report.op_compiles, report.hot, slow]


def buckets(torch: Any) -> list[tuple[int, list[float]]]:
    """Returns the number of buckets and the losses: with one bucket, with one for each parameter, and with a static graph."""
    from torchlike.nn.parallel.distributed import _buckets

    nn, found = torch.nn, []
    for options in ({}, {"bucket_cap_mb": 1e-5}, {"static_graph": True, "bucket_cap_mb": 1e-5}):
        torch.manual_seed(0)
        model = nn.parallel.DistributedDataParallel(
            nn.Sequential(nn.Linear(7, 9), nn.Tanh(), nn.Linear(9, 2)), **options
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        torch.manual_seed(torch.distributed.get_rank())
        losses, count = [], 0
        for data in torch.randn(4, 5, 7):
            loss = model(data).square().mean()
            loss.backward()
            count = len(_buckets([each.grad for each in model.parameters()], model.bucket_bytes_cap))
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
        found.append((count, losses))
    return found


def meshes(torch: Any) -> dict[str, Any]:
    """A grid of all processes, its rows and columns."""
    dist = torch.distributed
    rank, size = dist.get_rank(), dist.get_world_size()
    mesh = dist.init_device_mesh("cpu", (size // 2, 2), mesh_dim_names=("dp", "tp"))
    row = mesh["tp"]
    x = torch.tensor([float(rank)])
    dist.all_reduce(x, group=mesh.get_group("tp"))
    column = torch.tensor([float(rank)])
    dist.all_reduce(column, group=mesh["dp"].get_group())
    return {
        "text": [repr(mesh), repr(row), repr(dist.init_device_mesh("cpu", (size,)))],
        "place": [list(mesh.get_coordinate()), mesh.get_local_rank("tp"), mesh.get_rank(), mesh.size(1)],
        "ranks": [row.mesh.tolist(), dist.get_process_group_ranks(mesh.get_group(0))],
        "sums": [listed(x), listed(column)],
        "refused": attempt(lambda: mesh["tp", "dp"]) if size > 2 else None,
    }
