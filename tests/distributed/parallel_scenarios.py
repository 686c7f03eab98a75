"""Scenarios with DTensors that are computed with, and tensor parallelism, over several processes, in torchlike and in PyTorch."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from tests.distributed.dtensor_scenarios import fsdp_of, mesh_of, parts_of
from tests.distributed.scenarios import attempt, fill, listed

SHAPES = {
    "x": (4, 8, 12),
    "a": (8, 12),
    "b": (12, 16),
    "w": (16, 12),
    "v": (16,),
    "u": (4, 8, 12),
    "s": (8, 4),
    "n": (12,),
    "p": (3, 5),
    "q": (5, 6),
}


def plans_of(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.distributed.tensor.parallel")


def _layout(t: Any, text: str) -> list[Any]:
    """Placements from text: "R", "S0", "S1" and so on, one for each dimension of the mesh."""
    return [t.Replicate() if each == "R" else t.Shard(int(each[1:])) for each in text.split()]


# What is computed, and how the tensors that it names are spread. Results, placements of results, and gradients are compared.
COMPUTED: list[tuple[str, dict[str, str]]] = [
    ("a @ b", {"a": "R", "b": "S1"}),
    ("a @ b", {"a": "S1", "b": "S0"}),
    ("a @ b", {"a": "S0", "b": "R"}),
    ("a @ b", {"a": "S0", "b": "S1"}),
    ("a @ b", {"a": "R", "b": "R"}),
    ("F.linear(x, w)", {"x": "R", "w": "S0"}),
    ("F.linear(x, w)", {"x": "S2", "w": "S1"}),
    ("F.linear(x, w)", {"x": "S1", "w": "R"}),
    ("F.linear(x, w, v)", {"x": "R", "w": "S0", "v": "S0"}),
    ("F.linear(x, w, v)", {"x": "S2", "w": "S1", "v": "R"}),
    ("F.linear(x, w).relu()", {"x": "S2", "w": "S1"}),
    ("torch.bmm(x, u.transpose(1, 2))", {"x": "S0", "u": "S0"}),
    ("torch.bmm(x, u.transpose(1, 2))", {"x": "S2", "u": "S2"}),
    ("torch.addmm(v, a, b)", {"v": "S0", "a": "R", "b": "S1"}),
    ("x.reshape(32, 12)", {"x": "S0"}),
    ("x.view(4, 8, 4, 3)", {"x": "S2"}),
    ("x.view(4, 8, 4, 3).transpose(1, 2).flatten(2)", {"x": "S2"}),
    ("x.flatten(1)", {"x": "S1"}),
    ("x.transpose(0, 2)", {"x": "S2"}),
    ("x.permute(2, 0, 1)", {"x": "S1"}),
    ("x.unsqueeze(1).squeeze(1)", {"x": "S1"}),
    ("a.t()", {"a": "S0"}),
    ("a.unsqueeze(0).expand(3, 8, 12)", {"a": "S1"}),
    ("x[:, 2]", {"x": "S2"}),
    ("x[1:3]", {"x": "S1"}),
    ("torch.cat([x, u], 1)", {"x": "S0", "u": "S0"}),
    ("torch.stack([x, u])", {"x": "S1", "u": "S1"}),
    ("x + u", {"x": "S0", "u": "S0"}),
    ("x + u", {"x": "S0", "u": "R"}),
    ("x * n", {"x": "S1", "n": "R"}),
    ("x * n", {"x": "S2", "n": "S0"}),
    ("x * n", {"x": "R", "n": "R"}),
    ("(x - u).exp() * 2", {"x": "S1", "u": "S1"}),
    ("F.gelu(x) + F.silu(u)", {"x": "S2", "u": "S2"}),
    ("x.sum()", {"x": "S0"}),
    ("x.sum(0)", {"x": "S0"}),
    ("x.sum(1)", {"x": "S0"}),
    ("x.sum((0, 2), keepdim=True)", {"x": "S2"}),
    ("x.mean()", {"x": "S0"}),
    ("x.mean(-1)", {"x": "S2"}),
    ("x.mean(-1, keepdim=True)", {"x": "S1"}),
    ("x.amax(1)", {"x": "S0"}),
    ("x.sum(0).square()", {"x": "S0"}),
    ("x.mean(0) * 3 + x.mean(0)", {"x": "S0"}),
    ("x.softmax(-1)", {"x": "S1"}),
    ("F.log_softmax(x, -1)", {"x": "S0"}),
    ("x.softmax(-1)", {"x": "S2"}),
    ("F.layer_norm(x, (12,), n, n)", {"x": "S1", "n": "R"}),
    ("x.cumsum(1)", {"x": "S0"}),
    ("x.var(-1)", {"x": "S1"}),
    ("F.embedding(i, b)", {"i": "R", "b": "S1"}),
    ("F.embedding(i, b)", {"i": "S0", "b": "R"}),
    ("F.cross_entropy(s, j)", {"s": "S1", "j": "R"}),
    ("torch.where(x > 0, x, 0.5)", {"x": "S1"}),
]
# What PyTorch refuses, or gives in another layout or with wrong gradients (mse_loss): compared with whole tensors, as the others are too.
BESIDES: list[tuple[str, dict[str, str]]] = [
    ("x.chunk(2, 1)[1]", {"x": "S0"}),
    ("x.split([3, 5], 1)[1]", {"x": "S2"}),
    ("F.scaled_dot_product_attention(x[None], u[None], u[None])", {"x": "S0", "u": "S0"}),
    ("F.scaled_dot_product_attention(x[None], u[None], u[None], is_causal=True)", {"x": "R", "u": "S2"}),
    ("F.embedding(i, b)", {"i": "R", "b": "S0"}),
    ("F.mse_loss(x, u)", {"x": "S0", "u": "S0"}),
    ("F.l1_loss(x, u, reduction='sum')", {"x": "S2", "u": "R"}),
    ("F.cross_entropy(s, j)", {"s": "S0", "j": "S0"}),
    ("F.cross_entropy(s, j, ignore_index=1)", {"s": "S0", "j": "R"}),
    ("torch.linalg.vector_norm(x)", {"x": "S1"}),
    ("x.norm(3, dim=1)", {"x": "S1"}),
    ("x.std(0)", {"x": "S0"}),
    ("2**x + x**2 + 1 / (x * x + 1) + (x == u).float() * u - x.detach() // 2 % 3", {"x": "S0", "u": "S0"}),
    ("torch.einsum('bij,bkj->bik', x, u)", {"x": "S2", "u": "S2"}),
    ("torch.einsum('ij,jk->ik', a, b)", {"a": "S0", "b": "R"}),
    ("x.movedim(0, 2)", {"x": "S0"}),
    ("x.mT", {"x": "S1"}),
    ("x.max(1).values", {"x": "S1"}),
    ("x.amax(0)", {"x": "S0"}),
    ("x.logsumexp(-1)", {"x": "S0"}),
    ("x.prod(2)", {"x": "S2"}),
    ("x.sort(-1).values", {"x": "S1"}),
    ("F.glu(x)", {"x": "S0"}),
    ("F.normalize(x, dim=-1)", {"x": "S1"}),
    ("x.flip(1).roll(2, 0)", {"x": "S2"}),
    ("x.masked_fill(x > 0, 1.0).unbind(0)[1]", {"x": "S1"}),
    ("x[..., 1:5, None] * 2", {"x": "S0"}),
    ("torch.mv(a, n)", {"a": "S1", "n": "S0"}),
    ("a.mean(0) @ b", {"a": "S0", "b": "R"}),
    ("F.rms_norm(x, (12,), n)", {"x": "S0", "n": "R"}),
    ("(a * 2 - a.mean()).sum(1)", {"a": "S1"}),
    ("a.sum() / a.numel() + a.sum() * 0.5", {"a": "S0"}),
    ("1 / x.exp().sum(0)", {"x": "S0"}),
    ("torch.div(x.exp().sum(0), 2, rounding_mode='floor') + x[0] * 0", {"x": "S0"}),
    ("torch.div(2, x.exp().sum(0))", {"x": "S0"}),
    ("x.exp().sum(0).to(torch.int64).to(x.dtype) + x[0] * 0", {"x": "S0"}),
    ("x.flip(0, 1)", {"x": "S1"}),
    ("x[0].repeat_interleave(2)", {"x": "S1"}),
    # Pieces of several lengths, in four processes some of no elements.
    ("p @ q", {"p": "S1", "q": "S0"}),
    ("p @ q", {"p": "S0", "q": "S1"}),
    ("p.exp().sum(0)", {"p": "S0"}),
    ("p.exp().mean()", {"p": "S0"}),
    ("p.softmax(0) + p", {"p": "S1"}),
    ("F.linear(p, q.t())", {"p": "S1", "q": "S0"}),
    ("p.t().unsqueeze(0)", {"p": "S1"}),
    ("F.embedding(j % 5, q)", {"j": "R", "q": "S0"}),
    ("torch.cat([p, p], 0)", {"p": "S1"}),
]
# The same on a mesh of two dimensions, in four processes.
ON_GRIDS: list[tuple[str, dict[str, str]]] = [
    ("a @ b", {"a": "S0 R", "b": "R S1"}),
    ("a @ b", {"a": "S0 S1", "b": "R S0"}),
    ("F.linear(x, w)", {"x": "S0 R", "w": "R S0"}),
    ("x + u", {"x": "S0 S1", "u": "S0 S1"}),
    ("x.sum()", {"x": "S0 S2"}),
    ("x.sum(0)", {"x": "S0 S2"}),
    ("x.softmax(-1)", {"x": "S0 S1"}),
    ("x.transpose(0, 1)", {"x": "S0 S1"}),
    ("x.exp()", {"x": "S0 S0"}),
]


def _tensors(torch: Any) -> dict[str, Any]:
    numbers = np.random.default_rng(7)
    found = {name: torch.tensor(numbers.standard_normal(shape).astype(np.float32)) for name, shape in SHAPES.items()}
    return found | {"i": torch.arange(8).reshape(4, 2) % 12, "j": torch.arange(8) % 4}


def computed(torch: Any, grid: bool = False, cases: Any = None) -> dict[str, Any]:
    """Results with their placements, and gradients, of functions of tensors that are spread."""
    mesh = mesh_of(torch, 2) if grid else mesh_of(torch)
    plain, results = _tensors(torch), {}
    for text, layouts in cases or (ON_GRIDS if grid else COMPUTED):
        try:
            results[f"{text} with {layouts}"] = _computed(torch, text, layouts, mesh, plain)
        except Exception as error:
            results[f"{text} with {layouts}"] = f"{type(error).__name__}: {error}"[:200]
    return results


def _computed(torch: Any, text: str, layouts: dict[str, str], mesh: Any, plain: dict[str, Any]) -> Any:
    t = parts_of(torch)
    known: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    for name, layout in layouts.items():
        leaf = plain[name].clone()
        if leaf.is_floating_point():
            leaf.requires_grad_()
        known[name] = t.distribute_tensor(leaf, mesh, _layout(t, layout))
    result = eval(text, known)
    weights = torch.arange(float(result.numel())).reshape(result.shape) / result.numel() + 0.5
    (result.full_tensor() * weights).sum().backward()
    leaves = [known[name] for name in layouts if known[name].is_floating_point()]
    _compare_with_whole(torch, text, layouts, plain, result, weights, known)
    return [
        list(map(str, result.placements)),
        list(result.shape),
        list(result.to_local().shape),
        _short(result.full_tensor()),
        [_short(leaf.grad.full_tensor()) for leaf in leaves],
    ]


def _compare_with_whole(
    torch: Any,
    text: str,
    layouts: dict[str, str],
    plain: dict[str, Any],
    result: Any,
    weights: Any,
    known: dict[str, Any],
) -> None:
    """Compares a result and its gradients with those of plain tensors."""
    if torch.__name__ == "torch":
        return
    wholes: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    for name in layouts:
        leaf = plain[name].clone()
        wholes[name] = leaf.requires_grad_() if leaf.is_floating_point() else leaf
    whole = eval(text, wholes)
    (whole * weights).sum().backward()
    assert torch.allclose(result.full_tensor(), whole, rtol=1e-5, atol=1e-5), text
    for name in layouts:
        if wholes[name].is_floating_point():
            assert torch.allclose(known[name].grad.full_tensor(), wholes[name].grad, rtol=1e-4, atol=1e-5), (text, name)


def _short(tensor: Any) -> list[Any]:
    """The shape, and sums of the elements that depend on their places."""
    flat = tensor.detach().double().reshape(-1)
    return [list(tensor.shape), listed(flat.sum()), listed((flat * _cycle(flat)).sum() / max(1, flat.numel()))]


def _cycle(flat: Any) -> Any:
    return flat.new_tensor(np.arange(flat.numel()) % 7 + 1.0)


def besides(torch: Any) -> dict[str, Any]:
    """Compares functions of pieces with those of whole tensors; what fails, with its error."""
    found = computed(torch, cases=BESIDES)
    return {text: answer for text, answer in found.items() if isinstance(answer, str)}


# ---- modules by plan


def _block(torch: Any) -> Any:
    nn = torch.nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(16, 16) for _ in range(4))

        def forward(self, x: Any) -> Any:
            heads = [each(x).unflatten(-1, (-1, 4)).transpose(1, 2) for each in (self.q, self.k, self.v)]
            return self.o(nn.functional.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(2))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.attention, self.norm2 = nn.LayerNorm(16), Attention(), nn.LayerNorm(16)
            self.up, self.down = nn.Linear(16, 24), nn.Linear(24, 16)

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.norm(x))
            return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))

    return Block()


def _language_model(torch: Any) -> Any:
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.norm, self.head = nn.Embedding(20, 16), nn.LayerNorm(16), nn.Linear(16, 20)
            self.blocks = nn.ModuleList([_block(torch)])

        def forward(self, x: Any) -> Any:
            x = self.embed(x)
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    return Model()


def _plan(torch: Any, sequence: bool, loss_parallel: bool) -> dict[str, Any]:
    t, p = parts_of(torch), plans_of(torch)
    shard, copy = t.Shard(1), t.Replicate()
    between = shard if sequence else copy
    plan = {
        "embed": p.RowwiseParallel(input_layouts=copy, output_layouts=between),
        "blocks.*.attention.q": p.ColwiseParallel(),
        "blocks.*.attention.k": p.ColwiseParallel(),
        "blocks.*.attention.v": p.ColwiseParallel(),
        "blocks.*.attention.o": p.RowwiseParallel(output_layouts=between),
        "blocks.*.up": p.ColwiseParallel(input_layouts=between),
        "blocks.*.down": p.RowwiseParallel(output_layouts=between),
        "head": p.ColwiseParallel(
            input_layouts=between,
            output_layouts=t.Shard(-1) if loss_parallel else copy,
            use_local_output=not loss_parallel,
        ),
    }
    if sequence:
        plan |= {
            "norm": p.SequenceParallel(),
            "blocks.*.norm": p.SequenceParallel(),
            "blocks.*.norm2": p.SequenceParallel(),
            "blocks.*.attention": p.PrepareModuleInput(input_layouts=(shard,), desired_input_layouts=(copy,)),
        }
    return plan


def by_plan(torch: Any, sequence: bool, loss_parallel: bool = False, copies: int = 0) -> dict[str, Any]:
    """Losses of tensor parallelism; with ``copies`` on a mesh of two dimensions, together with fully_shard."""
    dist = torch.distributed
    size = dist.get_world_size()
    mesh = dist.init_device_mesh("cpu", (max(1, copies), size // max(1, copies)), mesh_dim_names=("dp", "tp"))
    model = _language_model(torch)
    fill(torch, model, seed=3)
    plans_of(torch).parallelize_module(model, mesh["tp"], _plan(torch, sequence, loss_parallel))
    if copies:
        for block in model.blocks:
            fsdp_of(torch).fully_shard(block, mesh=mesh["dp"])
        fsdp_of(torch).fully_shard(model, mesh=mesh["dp"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    numbers = np.random.default_rng(mesh["dp"].get_local_rank())
    losses = []
    for _ in range(12):
        tokens = torch.tensor(numbers.integers(0, 20, (3, 9)))
        with plans_of(torch).loss_parallel() if loss_parallel else torch.enable_grad():
            output = model(tokens[:, :8])
            loss = torch.nn.functional.cross_entropy(output.flatten(0, 1), tokens[:, 1:].flatten())
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.full_tensor() if hasattr(loss, "full_tensor") else loss)
    d_tensor = parts_of(torch).DTensor
    return {
        "losses": [loss.item() for loss in losses],
        "layouts": {
            name: [list(map(str, p.placements)), list(p.to_local().shape)] if isinstance(p, d_tensor) else list(p.shape)
            for name, p in model.named_parameters()
        },
    }


def spread_modules(torch: Any) -> dict[str, Any]:
    """distribute_module, initialisers of spread tensors, and gradients of what is made whole."""
    t, nn, mesh = parts_of(torch), torch.nn, mesh_of(torch)

    def partition(name: str, module: Any, mesh: Any) -> None:
        if isinstance(module, nn.Linear):
            for key, parameter in list(module.named_parameters(recurse=False)):
                module.register_parameter(key, nn.Parameter(t.distribute_tensor(parameter, mesh, [t.Shard(0)])))

    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.LayerNorm(8))
    fill(torch, model, seed=1)
    t.distribute_module(
        model,
        mesh,
        partition,
        lambda module, inputs, mesh: t.DTensor.from_local(inputs[0], mesh, [t.Replicate()]),
        lambda module, outputs, mesh: outputs.full_tensor(),
    )
    x = torch.tensor(np.random.default_rng(5).standard_normal((4, 6)).astype(np.float32)).requires_grad_()
    output = model(x)
    (output * output.detach().cumsum(0)).sum().backward()
    results: dict[str, Any] = {
        "output": _short(output),
        "gradients": [_short(p.grad.full_tensor()) for p in model.parameters()] + [_short(x.grad)],
        "layouts": [list(map(str, p.placements)) for p in model.parameters()],
    }
    weight = t.distribute_tensor(torch.ones(8, 6), mesh, [t.Shard(0)])
    filled = [nn.init.zeros_, nn.init.ones_, lambda w: nn.init.constant_(w, 0.3)]
    results["filled"] = [[fn(weight) is weight, _short(weight.full_tensor())] for fn in filled]
    local = torch.ones(2, 3) * (torch.distributed.get_rank() + 1)
    terms = t.DTensor.from_local(local.requires_grad_(), mesh, [t.Partial()])
    results["terms"] = [
        listed(terms.full_tensor()),
        listed((terms * 2).redistribute(placements=[t.Shard(0)]).full_tensor()),
    ]
    (terms.full_tensor() * torch.arange(6.0).reshape(2, 3)).sum().backward()
    with torch.no_grad():
        results["terms in place"] = [attempt(lambda: terms.add_(1.0)), attempt(lambda: terms.normal_())]
    results["gradient of terms"] = listed(local.grad)
    leaf = torch.ones(3).requires_grad_()
    copy = t.DTensor.from_local(leaf, mesh, [t.Replicate()])
    (copy.to_local(grad_placements=[t.Partial()]) * (torch.distributed.get_rank() + 1)).sum().backward()
    results["gradient that is a term"] = listed(leaf.grad)
    return results


def drawn(torch: Any) -> list[str]:
    """The initialisers and random functions whose numbers differ from those of whole tensors, in torchlike."""
    t, init, mesh = parts_of(torch), torch.nn.init, mesh_of(torch)
    fills: dict[str, Any] = {
        "normal_": init.normal_,
        "uniform_": init.uniform_,
        "trunc_normal_": init.trunc_normal_,
        "xavier_uniform_": init.xavier_uniform_,
        "kaiming_uniform_": init.kaiming_uniform_,
        "orthogonal_": init.orthogonal_,
        "eye_": init.eye_,
        "sparse_": lambda x: init.sparse_(x, 0.5),
        "bernoulli_": lambda x: x.bernoulli_(0.3),
        "rand_like": torch.rand_like,
        "dropout": lambda x: torch.nn.functional.dropout(x + 1, 0.5),
    }
    differing = []
    for name, fill_one in fills.items():
        for placement in (t.Shard(0), t.Shard(1), t.Replicate()):
            torch.manual_seed(4)
            with torch.no_grad():
                spread = fill_one(t.distribute_tensor(torch.zeros(7, 6), mesh, [placement])).full_tensor()
                torch.manual_seed(4)
                if not torch.equal(spread, fill_one(torch.zeros(7, 6))):
                    differing.append(f"{name} {placement}")
    return differing
