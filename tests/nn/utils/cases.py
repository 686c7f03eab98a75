"""Functions of `nn.utils` applied to small layers, as plain values by name of the case, with PyTorch and with torchlike."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np


def filled(torch: Any, module: Any, seed: int = 0) -> Any:
    """Fills parameters and buffers with numbers that are the same with both libraries."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for tensor in [*module.parameters(), *module.buffers()]:
            if tensor.is_floating_point():
                tensor.copy_(torch.tensor(rng.uniform(0.1, 1.0, tuple(tensor.shape)).astype("float32")))
    return module


def seen(torch: Any, module: Any, *inputs: tuple[int, ...]) -> list[Any]:
    """Returns state, output and gradients of a module for fixed inputs."""
    rng = np.random.default_rng(1)
    given = [torch.tensor(rng.normal(size=shape).astype("float32")) for shape in inputs]
    out = module(*given)
    out.sum().backward()
    grads = [[n, None if p.grad is None else p.grad.tolist()] for n, p in module.named_parameters()]
    state = [[n, v.tolist()] for n, v in module.state_dict().items()]
    return [repr(module), out.tolist(), grads, state]


def weight_norm(torch: Any, old: bool, dim: int | None, conv: bool) -> Any:
    utils, layer = torch.nn.utils, torch.nn.Conv1d(2, 3, 2) if conv else torch.nn.Linear(4, 3)
    apply = utils.weight_norm if old else utils.parametrizations.weight_norm
    layer = apply(filled(torch, layer), dim=dim)
    found = [seen(torch, layer, (2, 2, 4) if conv else (2, 4))]
    if old:
        utils.remove_weight_norm(layer)
    else:
        utils.parametrize.remove_parametrizations(layer, "weight")
    return [*found, [n for n, _ in layer.named_parameters()], repr(layer)]


def spectral_norm(torch: Any, old: bool, kind: str, iterations: int = 1) -> Any:
    utils = torch.nn.utils
    layer = {
        "linear": lambda: torch.nn.Linear(4, 3),
        "conv": lambda: torch.nn.Conv2d(2, 3, 2),
        "transposed": lambda: torch.nn.ConvTranspose2d(2, 3, 2),
    }[kind]()
    apply = utils.spectral_norm if old else utils.parametrizations.spectral_norm
    shape = (2, 4) if kind == "linear" else (1, 2, 3, 3)
    torch.manual_seed(3)
    layer = apply(filled(torch, layer), n_power_iterations=iterations)
    found = [seen(torch, layer, shape), torch.rand(1).tolist()]
    found.append(layer.eval()(torch.ones(shape)).tolist())
    if old:
        utils.remove_spectral_norm(layer)
    else:
        utils.parametrize.remove_parametrizations(layer, "weight")
    return [*found, [n for n, _ in layer.named_parameters()]]


def older_spectral_state(torch: Any, drop: str | None, strict: bool) -> Any:
    """Loads a state as PyTorch wrote it before 1.0, with the weight itself and without the second vector, into a layer."""
    make = lambda: torch.nn.utils.spectral_norm(filled(torch, torch.nn.Linear(3, 4)))  # noqa: E731
    torch.manual_seed(0)
    state = make().state_dict()
    marks = state._metadata[""]
    given = {k: v for k, v in state.items() if k not in ("weight_v", drop)}
    if drop != "weight":
        given["weight"] = state["weight_orig"] / 3
    layer = make()
    try:
        told = str(layer.load_state_dict(given, strict=strict))
    except RuntimeError as error:
        told = str(error)
    after = [layer.weight_v.tolist(), layer(torch.ones(1, 3)).tolist()]
    torch.nn.utils.remove_spectral_norm(layer)
    return [dict(marks), told, after, sorted(given), layer.state_dict()._metadata[""]]


def orthogonal(torch: Any, shape: tuple[int, ...], how: str | None, trivial: bool, dtype: str = "float32") -> Any:
    layer = torch.nn.Module()
    weight = filled(torch, torch.nn.ParameterList([torch.ones(*shape)]))[0].detach().to(getattr(torch, dtype))
    layer.weight = torch.nn.Parameter(weight)
    torch.manual_seed(0)
    try:
        torch.nn.utils.parametrizations.orthogonal(layer, orthogonal_map=how, use_trivialization=trivial)
        original = layer.parametrizations.weight.original
        found = [layer.weight.tolist()]
        layer.weight.abs().square().tril().sum().backward()
        found.append(original.grad.abs().tolist())
        with torch.no_grad():
            original += 0.1
        found.append(layer.weight.abs().tolist())
        layer.weight = torch.ones(*shape, dtype=weight.dtype).tril()
        return [*found, layer.weight.abs().tolist(), list(layer.state_dict()), repr(layer), torch.rand(1).tolist()]
    except (NotImplementedError, ValueError) as error:
        return str(error)


def laid_out(torch: Any, name: str, kind: str) -> Any:
    nn, form = torch.nn, getattr(torch, "channels_last_3d" if "3d" in name else "channels_last")
    model = nn.Sequential(
        nn.Conv2d(2, 3, 2), nn.ModuleList([nn.ConvTranspose2d(2, 3, 2), nn.Linear(2, 2)]), nn.Conv3d(2, 3, 2)
    )
    form = {"own": form, "contiguous": torch.contiguous_format}.get(kind, torch.channels_last)
    try:
        same = getattr(nn.utils, name)(model, form) is model
    except RuntimeError as error:
        return str(error)
    return [same, [list(p.stride()) for p in model.parameters()], [p.requires_grad for p in model.parameters()]]


def symmetric(torch: Any, chained: bool) -> Any:
    class Symmetric(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, a: Any) -> Any:
            return a.triu()

    class Scaled(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return 2 * x

        def right_inverse(self, y: Any) -> Any:
            return y / 2

    parametrize = torch.nn.utils.parametrize
    layer = filled(torch, torch.nn.Linear(3, 3))
    parametrize.register_parametrization(layer, "weight", Symmetric())
    if chained:
        parametrize.register_parametrization(layer, "weight", Scaled())
    found = [seen(torch, layer, (2, 3)), type(layer).__name__, parametrize.type_before_parametrizations(layer).__name__]
    layer.weight = torch.ones(3, 3)
    found += [layer.weight.tolist(), seen(torch, copy.deepcopy(layer), (2, 3))]
    other = filled(torch, torch.nn.Linear(3, 3), 5)
    parametrize.transfer_parametrizations_and_params(layer, other)
    found.append(other.weight.tolist())
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=chained)
    return [*found, seen(torch, layer, (2, 3)), parametrize.is_parametrized(layer)]


def pruned(torch: Any, how: Callable[[Any, Any], Any]) -> Any:
    layer = filled(torch, torch.nn.Linear(6, 4))
    torch.manual_seed(1)
    prune = importlib.import_module(f"{torch.__name__}.nn.utils.prune")
    how(prune, layer)
    found = [seen(torch, layer, (2, 6)), prune.is_pruned(layer)]
    prune.remove(layer, "weight")
    return [*found, seen(torch, layer, (2, 6)), prune.is_pruned(layer)]


def pruned_together(torch: Any) -> Any:
    model = filled(torch, torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)))
    prune = importlib.import_module(f"{torch.__name__}.nn.utils.prune")
    pairs = [(model[0], "weight"), (model[1], "weight")]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=0.4)
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=3)
    return seen(torch, model, (2, 4))


def fused(torch: Any, kind: str) -> Any:
    nn, utils = torch.nn, torch.nn.utils
    first, norm = {
        "conv": lambda: (nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3)),
        "plain": lambda: (nn.Conv1d(2, 3, 2, bias=False), nn.BatchNorm1d(3, affine=False)),
        "transposed": lambda: (nn.ConvTranspose2d(2, 3, 2), nn.BatchNorm2d(3)),
        "linear": lambda: (nn.Linear(4, 3), nn.BatchNorm1d(3)),
    }[kind]()
    first, norm = filled(torch, first).eval(), filled(torch, norm, 2).eval()
    if kind == "linear":
        return seen(torch, utils.fuse_linear_bn_eval(first, norm), (2, 4))
    return seen(
        torch,
        utils.fuse_conv_bn_eval(first, norm, kind == "transposed"),
        (1, 2, 4) if kind == "plain" else (1, 2, 3, 3),
    )


CASES: dict[str, Callable[[Any], Any]] = {
    **{
        f"weight_norm/{o}/{d}/{c}": lambda t, o=o, d=d, c=c: weight_norm(t, o, d, c)
        for o in (True, False) for d in (0, 1, None) for c in (False, True)
    },
    **{
        f"spectral_norm/{o}/{k}": lambda t, o=o, k=k: spectral_norm(t, o, k)
        for o in (True, False) for k in ("linear", "conv", "transposed")
    },
    "spectral_norm/old/3": lambda t: spectral_norm(t, True, "linear", 3),
    **{
        f"spectral_norm/older/{d}/{s}": lambda t, d=d, s=s: older_spectral_state(t, d, s)
        for d in (None, "weight", "weight_u") for s in (True, False)
    },
    # Only a few, because exponentials and factorisations of matrices take seconds to compile.
    "orthogonal/wide": lambda t: orthogonal(t, (3, 4), None, True),
    "orthogonal/square": lambda t: orthogonal(t, (3, 3), None, True),
    "orthogonal/cayley": lambda t: orthogonal(t, (3, 3), "cayley", False),
    "orthogonal/householder": lambda t: orthogonal(t, (2, 4, 3), "householder", False),
    "orthogonal/complex reflections": lambda t: orthogonal(t, (2, 3), "householder", True, "complex64"),
    "orthogonal/unknown": lambda t: orthogonal(t, (2, 3), "polar", True),
    "orthogonal/vector": lambda t: orthogonal(t, (3,), None, True),
    **{
        f"memory_format/{d}/{k}": lambda t, d=d, k=k: laid_out(t, f"convert_conv{d}d_weight_memory_format", k)
        for d, k in ((2, "own"), (3, "own"), (3, "wrong"), (2, "contiguous"))
    },
    "parametrize": lambda t: symmetric(t, False),
    "parametrize/chained": lambda t: symmetric(t, True),
    "prune/identity": lambda t: pruned(t, lambda p, m: p.identity(m, "weight")),
    "prune/random": lambda t: pruned(t, lambda p, m: p.random_unstructured(m, "weight", 0.3)),
    "prune/l1": lambda t: pruned(t, lambda p, m: p.l1_unstructured(m, "weight", 7)),
    "prune/twice": lambda t: pruned(t, lambda p, m: p.ln_structured(p.l1_unstructured(m, "weight", 0.25), "weight", 1, 2, 0)),
    "prune/rows then elements": lambda t: pruned(t, lambda p, m: p.l1_unstructured(p.ln_structured(m, "weight", 0.5, 1, 1), "weight", 2)),
    "prune/random rows": lambda t: pruned(t, lambda p, m: p.random_structured(m, "weight", 2, 1)),
    "prune/mask": lambda t: pruned(t, lambda p, m: p.custom_from_mask(m, "weight", m.weight.detach() > 0.5)),
    "prune/global": pruned_together,
    **{f"fuse/{k}": lambda t, k=k: fused(t, k) for k in ("conv", "plain", "transposed", "linear")},
}  # fmt: skip
