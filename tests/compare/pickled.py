"""A program that writes pickles of all kinds into a folder, or reads them there, with whatever `import torch` means to it."""

import pickle
import sys
from pathlib import Path

import torch
from torch import nn

folder = Path(sys.argv[2])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm, self.lstm = nn.Linear(3, 2), nn.InstanceNorm1d(2), nn.LSTM(2, 3)
        self.attention = nn.MultiheadAttention(4, 2)

    def forward(self, x):
        return self.lstm(self.linear(x))[0]


def things():
    torch.manual_seed(0)
    parameter, noted = nn.Parameter(torch.randn(3)), torch.arange(3)
    parameter.tag, noted.note = "kept", [1]
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    return {
        "view": torch.randn(2, 3)[:, 1:], "noted": noted, "parameter": parameter, "leaf": torch.ones(2, requires_grad=True),
        "bfloat16": torch.ones(2, dtype=torch.bfloat16), "uint16": torch.ones(2, dtype=torch.uint16), "empty": torch.empty(0, 3),
        "conjugate": torch.ones(2, dtype=torch.complex64).conj(), "scalar": torch.tensor(3.5), "bool": torch.tensor([True]),
        "words": [torch.float32, torch.device("cpu"), torch.Size([1, 2]), torch.strided, nn.Linear, nn.functional.relu, torch.relu],
        "net": net, "state": net.state_dict(), "optimizer": optimizer, "loss": nn.CrossEntropyLoss(),
        "normal": torch.distributions.Normal(torch.zeros(1), torch.ones(1)), "rng": torch.get_rng_state(),
    }  # fmt: skip


def same(a, b):
    if isinstance(a, torch.Tensor):
        flags = [(type(t), t.dtype, t.requires_grad, t.stride(), vars(t)) for t in (a, b)]
        return flags[0] == flags[1] and torch.equal(a, b)
    if isinstance(a, nn.Module):
        return repr(a) == repr(b) and same(dict(a.state_dict()), dict(b.state_dict()))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return a == b or repr(a) == repr(b)


def files(name):
    return [(folder / f"{name}.{protocol}", protocol) for protocol in (2, 4)]


if __name__ == "__main__":
    for name, thing in things().items():
        for file, protocol in files(name):
            if sys.argv[1] == "write":
                file.write_bytes(pickle.dumps(thing, protocol))
                continue
            try:
                found = pickle.loads(file.read_bytes())
                if not same(thing, found):
                    print(f"{file.name}: {found} for {thing}")
                if name == "net":
                    found(torch.ones(2, 3)).sum().backward()
            except Exception as error:
                print(f"{file.name}: {error!r}")
