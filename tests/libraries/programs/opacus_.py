"""opacus: training with differential privacy."""

import warnings

warnings.filterwarnings("ignore")
import torch
from opacus import PrivacyEngine
from opacus.validators import ModuleValidator

torch.manual_seed(0)
x = torch.randn(32, 4)
data = torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long())
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
print(ModuleValidator.validate(torch.nn.BatchNorm1d(3), strict=False) != [])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
engine = PrivacyEngine(accountant="rdp")
model, optimizer, loader = engine.make_private(
    module=model,
    optimizer=optimizer,
    data_loader=torch.utils.data.DataLoader(data, batch_size=8),
    noise_multiplier=0.0,
    max_grad_norm=1.0,
    poisson_sampling=False,
)
for a, b in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(a), b)
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f} {model._module[0].weight.grad.abs().sum().item():.4f}")
