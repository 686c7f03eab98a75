"""Calls whose operators a TorchDispatchMode sees, forward and backward, compared with those that it saw under PyTorch."""

from __future__ import annotations

import importlib
import re
import warnings
from types import ModuleType
from typing import Any

# A module, and its arguments.
MODULES = {
    "linear": ("nn.Linear(4, 3)", "(torch.randn(2, 4), )"),
    "linear3": ("nn.Linear(4, 3)", "(torch.randn(2, 5, 4), )"),
    "linear_nobias": ("nn.Linear(4, 3, bias=False)", "(torch.randn(2, 4), )"),
    "mlp": ("nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))", "(torch.randn(3, 4), )"),
    "conv": ("nn.Conv2d(3, 4, 3, padding=1)", "(torch.randn(2, 3, 8, 8), )"),
    "cnn": (
        "nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5))",
        "(torch.randn(2, 3, 8, 8), )",
    ),
    "avg": ("nn.Sequential(nn.Conv2d(3, 4, 3), nn.AvgPool2d(2))", "(torch.randn(2, 3, 8, 8), )"),
    "adaptive": ("nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1))", "(torch.randn(2, 3, 8, 8), )"),
    "adaptive2": ("nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(2))", "(torch.randn(2, 3, 8, 8), )"),
    "conv1d": ("nn.Conv1d(3, 4, 3)", "(torch.randn(2, 3, 8), )"),
    "convT": ("nn.ConvTranspose2d(3, 4, 3)", "(torch.randn(2, 3, 8, 8), )"),
    "layernorm": ("nn.LayerNorm(4)", "(torch.randn(2, 4), )"),
    "groupnorm": ("nn.GroupNorm(2, 4)", "(torch.randn(2, 4, 3, 3), )"),
    "bn1d": ("nn.BatchNorm1d(4)", "(torch.randn(5, 4), )"),
    "bn_eval": ("nn.BatchNorm1d(4).eval()", "(torch.randn(5, 4), )"),
    "embedding": ("nn.Embedding(10, 4)", "(torch.tensor([[1, 2], [3, 4]]), )"),
    "gelu": ("nn.Sequential(nn.Linear(4, 4), nn.GELU())", "(torch.randn(2, 4), )"),
    "silu": ("nn.Sequential(nn.Linear(4, 4), nn.SiLU())", "(torch.randn(2, 4), )"),
    "sigmoid": ("nn.Sequential(nn.Linear(4, 4), nn.Sigmoid())", "(torch.randn(2, 4), )"),
    "tanh": ("nn.Sequential(nn.Linear(4, 4), nn.Tanh())", "(torch.randn(2, 4), )"),
    "leaky": ("nn.Sequential(nn.Linear(4, 4), nn.LeakyReLU())", "(torch.randn(2, 4), )"),
    "elu": ("nn.Sequential(nn.Linear(4, 4), nn.ELU())", "(torch.randn(2, 4), )"),
    "softplus": ("nn.Sequential(nn.Linear(4, 4), nn.Softplus())", "(torch.randn(2, 4), )"),
    "softmax": ("nn.Sequential(nn.Linear(4, 4), nn.Softmax(-1))", "(torch.randn(2, 4), )"),
    "logsoftmax": ("nn.Sequential(nn.Linear(4, 4), nn.LogSoftmax(-1))", "(torch.randn(2, 4), )"),
    "dropout": ("nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))", "(torch.randn(2, 4), )"),
    "dropout_eval": ("nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).eval()", "(torch.randn(2, 4), )"),
    "relu_inplace": ("nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True))", "(torch.randn(2, 4), )"),
    "mha": ("nn.MultiheadAttention(8, 2, batch_first=True)", "(torch.randn(2, 3, 8), )*3"),
    "encoder": ("nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)", "(torch.randn(2, 3, 8), )"),
    "lstm": ("nn.LSTM(4, 5, batch_first=True)", "(torch.randn(2, 3, 4), )"),
    "gru": ("nn.GRU(4, 5)", "(torch.randn(3, 2, 4), )"),
    "rnncell": ("nn.RNNCell(4, 5)", "(torch.randn(2, 4), )"),
    "bilinear": ("nn.Bilinear(3, 4, 5)", "(torch.randn(2, 3), torch.randn(2, 4), )"),
    "prelu": ("nn.PReLU()", "(torch.randn(2, 4), )"),
    "upsample": ("nn.Sequential(nn.Conv2d(1, 1, 1), nn.Upsample(scale_factor=2))", "(torch.randn(1, 1, 4, 4), )"),
}

# ``a(2, 3)`` is a leaf of that shape that requires a gradient.
FUNCTIONS = {
    "add": "(a(3)+a(3)).sum()",
    "addscalar": "(a(3)+1).sum()",
    "radd": "(1+a(3)).sum()",
    "sub": "(a(3)-a(3)).sum()",
    "rsub": "(1-a(3)).sum()",
    "mul": "(a(3)*a(3)).sum()",
    "mulbc": "(a(2, 3)*a(3)).sum()",
    "mulscalar": "(a(3)*2).sum()",
    "div": "(a(3)/a(3)).sum()",
    "divscalar": "(a(3)/2).sum()",
    "pow2": "(a(3)**2).sum()",
    "pow3": "(a(3).abs()**3).sum()",
    "neg": "(-a(3)).sum()",
    "exp": "a(3).exp().sum()",
    "log": "a(3).abs().log().sum()",
    "sqrt": "a(3).abs().sqrt().sum()",
    "sin": "a(3).sin().sum()",
    "cos": "a(3).cos().sum()",
    "sumdim": "a(3, 4).sum(1).sum()",
    "meandim": "a(3, 4).mean(1).sum()",
    "mean": "a(3, 4).mean()",
    "max": "a(3, 4).max()",
    "maxdim": "a(3, 4).max(1).values.sum()",
    "amax": "a(3, 4).amax(1).sum()",
    "logsumexp": "a(3, 4).logsumexp(1).sum()",
    "var": "a(3, 4).var(1).sum()",
    "std": "a(3, 4).std()",
    "norm": "a(3, 4).norm()",
    "mm": "(a(3, 4)@a(4, 2)).sum()",
    "mv": "(a(3, 4)@a(4)).sum()",
    "dot": "(a(4)@a(4)).sum()",
    "bmm": "(a(2, 3, 4)@a(2, 4, 2)).sum()",
    "bmm4": "(a(2, 2, 3, 4)@a(2, 2, 4, 2)).sum()",
    "mm3": "(a(2, 3, 4)@a(4, 2)).sum()",
    "einsum": 'torch.einsum("bij, bjk->bik", a(2, 3, 4), a(2, 4, 2)).sum()',
    "view": "a(3, 4).view(4, 3).sum()",
    "reshape": "a(3, 4).t().reshape(3, 4).sum()",
    "transpose": "a(3, 4).transpose(0, 1).sum()",
    "permute": "a(3, 4).permute(1, 0).sum()",
    "T": "a(3, 4).T.sum()",
    "squeeze": "a(3, 1).squeeze(1).sum()",
    "unsqueeze": "a(3).unsqueeze(1).sum()",
    "cat": "torch.cat([a(3), a(4)]).sum()",
    "stack": "torch.stack([a(3), a(3)]).sum()",
    "split": "a(4, 3).split(2)[0].sum()",
    "chunk": "a(4, 3).chunk(2)[1].sum()",
    "slice": "a(4, 3)[1:].sum()",
    "select": "a(4, 3)[1].sum()",
    "index": "a(4, 3)[torch.tensor([0, 1])].sum()",
    "mask": "a(4)[torch.tensor([True, False, True, True])].sum()",
    "gather": "a(4, 3).gather(1, torch.tensor([[0], [1], [2], [0]])).sum()",
    "expand": "a(1, 3).expand(2, 3).sum()",
    "where": "torch.where(torch.tensor([True, False]), a(2), a(2)).sum()",
    "clamp": "a(3).clamp(0, 1).sum()",
    "maskedfill": "a(2).masked_fill(torch.tensor([True, False]), 0.).sum()",
    "clone": "a(3).clone().sum()",
    "contiguous": "a(3, 4).t().contiguous().sum()",
    "to": "a(3).to(torch.float64).sum()",
    "float": "a(3).double().float().sum()",
    "detach": "(a(3).detach()*a(3)).sum()",
    "cumsum": "a(3).cumsum(0).sum()",
    "prod": "a(3).prod()",
    "maximum": "torch.maximum(a(3), a(3)).sum()",
    "abs": "a(3).abs().sum()",
    "mse": "F.mse_loss(a(3), torch.randn(3))",
    "l1": "F.l1_loss(a(3), torch.randn(3))",
    "huber": "F.smooth_l1_loss(a(3), torch.randn(3))",
    "ce": "F.cross_entropy(a(3, 4), torch.tensor([0, 1, 2]))",
    "nll": "F.nll_loss(F.log_softmax(a(3, 4), 1), torch.tensor([0, 1, 2]))",
    "bce": "F.binary_cross_entropy(a(3).sigmoid(), torch.rand(3))",
    "bcel": "F.binary_cross_entropy_with_logits(a(3), torch.rand(3))",
    "kl": 'F.kl_div(a(3, 4).log_softmax(1), torch.rand(3, 4), reduction="batchmean")',
    "sdpa": "F.scaled_dot_product_attention(a(1, 2, 3, 4), a(1, 2, 3, 4), a(1, 2, 3, 4)).sum()",
    "pad": "F.pad(a(2, 3), (1, 1)).sum()",
    "iadd": "(a(3)*1).add_(1).sum()",
    "imul": "(a(3)*1).mul_(a(3)).sum()",
    "outer": "torch.outer(a(3), a(3)).sum()",
    "normalize": "F.normalize(a(3, 4)).sum()",
    "cosine": "F.cosine_similarity(a(3, 4), a(3, 4)).sum()",
    "flatten": "a(3, 4).flatten().sum()",
    "unbind": "a(3, 4).unbind(0)[0].sum()",
    "tril": "a(3, 3).tril().sum()",
    "repeat": "a(3).repeat(2).sum()",
    "argmax": "a(3, 4).argmax(1)",
    "cmp": "(a(3)>0).float().mean()",
    "factories": "torch.zeros(2) + torch.ones(2) + torch.arange(2) + torch.full((2,), 3.) + torch.rand(2) + torch.randn(2)",
    "other factories": "torch.empty(2).fill_(1) + torch.eye(2)[0] + torch.tensor([1., 2.]) + torch.zeros_like(torch.ones(2))",
    "range": "torch.linspace(0, 1, 2)",
    "item": "torch.tensor([a(3).sum().item()])",
    "bool": "torch.tensor(1.) if (torch.tensor(1.)>0) else torch.tensor(2.)",
    "setitem": "torch.zeros(3).__setitem__(0, 1.) or torch.zeros(1)",
    "setitemt": "torch.zeros(3).__setitem__(slice(0, 2), torch.ones(2)) or torch.zeros(1)",
    "copy_": "torch.zeros(3).copy_(torch.ones(3))",
    "topk": "a(5).topk(2).values.sum()",
    "sort": "a(5).sort().values.sum()",
    "out": "torch.add(torch.ones(2), torch.ones(2), out=torch.empty(2))",
}

# PyTorch shows several operators for these, or for their backward; torchlike shows one, or a few others.
DIFFERENT_FORWARD = frozenset(
    ["mha", "encoder", "lstm", "gru", "rnncell", "bilinear", "prelu", "max", "einsum", "cosine"]
)
DIFFERENT_BACKWARD = DIFFERENT_FORWARD | {"amax", "prod", "maximum", "sdpa", "outer"}


def names_of(torch: ModuleType) -> dict[str, Any]:
    functional, nn = torch.nn.functional, torch.nn
    return {"torch": torch, "nn": nn, "F": functional, "a": lambda *shape: torch.randn(*shape, requires_grad=True)}


def mode_of(torch: ModuleType) -> Any:
    dispatch = importlib.import_module(f"{torch.__name__}.utils._python_dispatch")

    class Names(dispatch.TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen.append(re.sub(r"^aten\.|\.default$", "", str(func)))
            return func(*args, **(kwargs or {}))

    return Names()


def seen(torch: ModuleType, call: Any) -> list[str]:
    """Returns the operators that a mode sees of a call, and of the backward pass from its sum."""
    mode = mode_of(torch)
    with mode:
        result = call()
    forward = " ".join(mode.seen)
    mode.seen.clear()
    result = result[0] if isinstance(result, tuple) else result
    if result is not None and result.requires_grad:
        with mode:
            result.sum().backward()
    return [forward, " ".join(mode.seen)]


def everything(torch: ModuleType) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    names = names_of(torch)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (module, inputs) in MODULES.items():
            layer, given = eval(module, names), eval(inputs, names)
            found[name] = seen(torch, lambda layer=layer, given=given: layer(*given))
        for name, text in FUNCTIONS.items():
            found[name] = seen(torch, lambda text=text: eval(text, names))
    return {"seen": found}
