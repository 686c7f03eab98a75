"""zuko: a masked autoregressive flow and a neural spline flow, trained and sampled."""

import torch
import zuko

torch.manual_seed(0)
x = torch.randn(64, 2) @ torch.tensor([[1.0, 0.5], [0.0, 0.3]]) + 1
c = x[:, :1] * 0.5
for flow in (
    zuko.flows.MAF(2, 1, transforms=2, hidden_features=(16,)),
    zuko.flows.NSF(2, 1, transforms=1, hidden_features=(16,)),
):
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    for _ in range(4):
        loss = -flow(c).log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.4f}")
    torch.manual_seed(1)
    with torch.no_grad():
        print(f"{flow(c[0]).sample((5,)).mean().item():.4f}")
