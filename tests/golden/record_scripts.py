"""Writes archives in TorchScript with PyTorch, and what is in them: `python -m tests.golden.record_scripts`."""

import json
import warnings
from pathlib import Path

import torch
from torch import nn

FOLDER = Path(__file__).parent / "scripts"


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.norm, self.many = (
            nn.Linear(2, 2),
            nn.BatchNorm1d(2),
            nn.ModuleList([nn.Linear(2, 1, bias=False)]),
        )
        self.tied, self.factor, self.words = self.layer.weight, 3, ["a", "b"]
        self.register_buffer("passing", torch.ones(1), persistent=False)

    def forward(self, x):
        return self.norm(self.layer(x)) * self.factor + len(self.words) + self.passing


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # PyTorch's, that scripts are deprecated
    FOLDER.mkdir(exist_ok=True)
    torch.manual_seed(0)
    model, found = Model(), {}
    torch.jit.save(torch.jit.script(model), FOLDER / "scripted.pt")
    torch.jit.save(torch.jit.trace(model.half().eval(), torch.ones(1, 2, dtype=torch.half)), FOLDER / "traced.pt")
    for path in sorted(FOLDER.glob("*.pt")):
        loaded = torch.jit.load(path)
        found[path.name] = {
            "training": loaded.training,
            "name": loaded.original_name,
            "state": {name: [str(each.dtype), each.tolist()] for name, each in loaded.state_dict().items()},
            "parameters": [name for name, _ in loaded.named_parameters()],
            "buffers": [name for name, _ in loaded.named_buffers()],
            "modules": [name for name, _ in loaded.named_modules()],
        }
    (FOLDER / "scripts.json").write_text(json.dumps(found) + "\n", "utf-8")
