"""torchcde: a neural controlled differential equation along cubic splines of irregular samples."""

import torch
import torchcde

torch.manual_seed(0)


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4 * 3)

    def forward(self, t, z):
        return self.linear(z).tanh().view(*z.shape[:-1], 4, 3)


t = torch.linspace(0, 1, 12)
x = torch.stack([t.repeat(6, 1), torch.sin(6 * t + torch.rand(6, 1)), torch.randn(6, 12) * 0.1], dim=-1)
x[0, 3, 2] = float("nan")
coefficients = torchcde.hermite_cubic_coefficients_with_backward_differences(x)
print(tuple(coefficients.shape), f"{coefficients.sum().item():.3f}")
field, first, last = Field(), torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*field.parameters(), *first.parameters(), *last.parameters()], lr=0.05)
for _ in range(3):
    path = torchcde.CubicSpline(coefficients)
    z = torchcde.cdeint(X=path, func=field, z0=first(path.evaluate(0.0)), t=path.interval, method="rk4")
    loss = (last(z[:, -1]) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f} {field.linear.weight.grad.abs().sum().item():.4f}")
natural = torchcde.CubicSpline(torchcde.natural_cubic_coeffs(x))
print(f"{natural.derivative(torch.tensor(0.4)).sum().item():.3f}")
