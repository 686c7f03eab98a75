"""safetensors.torch: state dictionaries to a file and back."""

import os
import tempfile

import torch
from safetensors import safe_open
from safetensors.torch import load_file, load_model, save_file, save_model

torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.safetensors")
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    save_file(
        dict(model.state_dict()) | {"half": torch.randn(3).to(torch.bfloat16)},
        path,
        {"by": "test"},
    )
    loaded = load_file(path)
    print(sorted(loaded), [str(t.dtype) for _, t in sorted(loaded.items())])
    print(sum(t.float().sum().item() for t in loaded.values()))
    with safe_open(path, framework="pt") as file:
        print(file.metadata(), file.get_slice("0.weight")[1:, :2].sum().item(), file.get_tensor("0.bias").tolist())
    save_model(model, path)
    other = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    print(load_model(other, path), torch.equal(other[0].weight, model[0].weight))
