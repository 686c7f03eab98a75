"""torchjd: training by Jacobians of several losses, with two ways to aggregate them."""

import torch
from torchjd.aggregation import IMTLG, MGDA, PCGrad
from torchjd.autojac import backward, jac_to_grad

x, y = (
    torch.randn(16, 5, generator=torch.Generator().manual_seed(0)),
    torch.randn(16, 2, generator=torch.Generator().manual_seed(1)),
)
for aggregator in (IMTLG(), MGDA(), PCGrad()):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        out = model(x)
        losses = [(out[:, k] - y[:, k]).square().mean() for k in range(2)]
        optimizer.zero_grad()
        backward(losses)
        jac_to_grad(model.parameters(), aggregator)
        optimizer.step()
        print(type(aggregator).__name__, [f"{loss.item():.5f}" for loss in losses])
