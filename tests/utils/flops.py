"""The cases of FlopCounterMode, forward and backward, for operations and modules, and how to run them in a framework."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

# Each expression makes a tensor. ``r`` draws one that requires a gradient, ``c`` one that does not.
LINES = """
r(2, 3) @ r(3, 4)
torch.mm(c(2, 3), r(3, 4))
r(2, 3) @ r(3)
r(3) @ r(3, 4)
torch.bmm(r(5, 2, 3), r(5, 3, 4))
r(5, 2, 3) @ r(3, 4)
r(2, 3) @ r(5, 3, 4)
r(5, 2, 3) @ r(3)
r(2, 1, 2, 3) @ r(1, 5, 3, 4)
r(2, 5, 2, 3) @ r(5, 3, 4)
c(5, 2, 3) @ c(3, 4)
c(2, 3) @ c(5, 3, 4)
F.linear(r(5, 3), r(4, 3), r(4))
F.linear(r(5, 3), r(4, 3))
F.linear(r(3), r(4, 3), r(4))
F.linear(c(2, 5, 3), r(4, 3), r(4))
F.linear(r(5, 2, 3).transpose(0, 1), r(4, 3), r(4))
torch.addmm(r(2, 4), r(2, 3), r(3, 4))
torch.addmv(r(2), r(2, 3), r(3))
torch.baddbmm(r(5, 2, 4), r(5, 2, 3), r(5, 3, 4))
torch.addbmm(r(2, 4), r(5, 2, 3), r(5, 3, 4))
torch.einsum('bij,bjk->bik', r(5, 2, 3), r(5, 3, 4))
torch.einsum('bhid,bhjd->bhij', r(2, 2, 3, 4), r(2, 2, 5, 4))
torch.einsum('i,j->ij', r(2), r(3))
torch.einsum('bi,ij,bj->b', r(2, 3), r(3, 3), c(2, 3))
torch.einsum('ij,ij->i', r(2, 3), r(2, 3))
torch.tensordot(r(2, 3, 4), r(3, 4, 5), 2)
torch.inner(r(2, 3), r(4, 3))
torch.linalg.multi_dot([r(2, 3), r(3, 4), r(4, 5)])
F.conv1d(r(2, 3, 10), r(6, 3, 3), r(6), padding=1)
F.conv2d(r(2, 4, 8, 8), r(6, 2, 3, 3), r(6), stride=2, groups=2)
F.conv2d(c(2, 4, 8, 8), r(6, 4, 3, 3))
F.conv2d(r(2, 4, 8, 8), r(4, 1, 3, 3), groups=4)
F.conv2d(r(4, 8, 8), r(6, 4, 3, 3), dilation=2, padding='same')
F.conv3d(r(1, 2, 4, 4, 4), r(3, 2, 2, 2, 2))
F.conv_transpose2d(r(2, 4, 5, 5), r(4, 6, 3, 3), r(6), stride=2)
F.conv_transpose1d(r(2, 4, 5), r(4, 3, 3), groups=2)
F.scaled_dot_product_attention(r(2, 2, 5, 4), r(2, 2, 6, 4), r(2, 2, 6, 3))
F.scaled_dot_product_attention(r(2, 5, 4), r(2, 6, 4), c(2, 6, 4))
F.scaled_dot_product_attention(r(2, 2, 5, 4), r(2, 2, 5, 4), r(2, 2, 5, 4), is_causal=True)
F.scaled_dot_product_attention(r(2, 2, 5, 4), r(2, 2, 6, 4), r(2, 2, 6, 4), dropout_p=0.1)
nn.LSTM(3, 4, 2)(r(5, 2, 3))[0]
nn.LSTM(3, 4, 2, proj_size=2)(c(5, 2, 3))[0]
nn.GRU(3, 4, 2, bidirectional=True)(c(5, 2, 3))[0]
nn.GRU(3, 4)(nn.utils.rnn.pack_sequence([c(4, 3), c(2, 3)]))[0].data
nn.RNN(3, 4, 2, bias=False)(r(5, 2, 3))[0]
nn.RNN(3, 4, batch_first=True)(r(5, 2, 3))[0]
nn.LSTMCell(3, 4)(c(2, 3))[0]
nn.GRUCell(3, 4)(c(2, 3))
nn.MultiheadAttention(4, 2)(r(5, 2, 4), r(5, 2, 4), r(5, 2, 4))[0]
nn.Transformer(16, 2, 1, 1, 32, batch_first=True)(c(2, 5, 16), c(2, 4, 16))
nn.Sequential(nn.Conv2d(3, 8, 3), nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(288, 4)))(c(2, 3, 8, 8))
nn.Linear(300, 200, device='meta')(torch.empty(64, 300, device='meta'))
""".strip().splitlines()


def counted(torch: ModuleType, line: str) -> list[str]:
    """Returns the counts of a line by module and operator: of the forward pass, and of both passes."""
    counter = import_module(f"{torch.__name__}.utils.flop_counter").FlopCounterMode
    names: dict[str, Any] = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "c": torch.randn}
    names["r"] = lambda *shape: torch.randn(*shape, requires_grad=True)
    counts: list[str] = []
    for backward in (False, True):
        with counter(display=False) as flops:
            result = eval(line, names)
            if backward and result.requires_grad:
                result.sum().backward()
        for module, by_operator in flops.get_flop_counts().items():
            said = ", ".join(f"{operator} {n}" for operator, n in sorted(by_operator.items(), key=str))
            counts.append(f"{'both ways' if backward else 'forward'}: {module}: {said}")
    return sorted(counts)


def everything(torch: ModuleType) -> dict[str, Any]:
    return {"counts": {line: counted(torch, line) for line in LINES}}
