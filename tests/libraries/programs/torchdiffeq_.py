"""torchdiffeq: an ordinary differential equation, with gradients through the solver and by the adjoint."""

import torch
from torchdiffeq import odeint, odeint_adjoint, odeint_event

torch.manual_seed(0)


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


field, y0, t = Field(), torch.tensor([[2.0, 0.0]]), torch.linspace(0, 1, 5)
for solve, options in [
    (odeint, {"method": "rk4"}),
    (odeint, {"method": "dopri5"}),
    (odeint_adjoint, {"method": "dopri5"}),
]:
    field.zero_grad()
    path = solve(field, y0, t, **options)
    loss = path.square().mean()
    loss.backward()
    print(
        options["method"],
        f"{loss.item():.5f} {sum(p.grad.abs().sum() for p in field.parameters()).item():.4f} {path[-1].sum().item():.5f}",
    )
time, state = odeint_event(
    lambda t, y: -torch.ones_like(y),
    torch.tensor([1.5]),
    torch.tensor(0.0),
    event_fn=lambda t, y: y[0] - 0.5,
    method="dopri5",
)
print(f"{time.item():.4f}")
