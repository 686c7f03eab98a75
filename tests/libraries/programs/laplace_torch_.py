"""laplace-torch: Laplace's approximation of a trained regression and of a classifier."""

import torch
from laplace import Laplace
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.linspace(-2, 2, 40)[:, None]
y = x.sin() + 0.1 * torch.randn(40, 1)
model = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(60):
    optimizer.zero_grad()
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
loader = DataLoader(TensorDataset(x, y), batch_size=10)
for structure in ("full", "kron", "diag"):
    la = Laplace(model, "regression", subset_of_weights="all", hessian_structure=structure)
    la.fit(loader)
    mean, variance = la(x[:3])
    print(structure, f"{la.log_marginal_likelihood().item():.2f}", [f"{v:.4f}" for v in variance.flatten().tolist()])
labels = (y[:, 0] > 0).long()
net = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
la = Laplace(net, "classification", subset_of_weights="last_layer", hessian_structure="kron")
la.fit(DataLoader(TensorDataset(x, labels), batch_size=10))
print([f"{v:.4f}" for v in la(x[:2], link_approx="probit").flatten().tolist()])
