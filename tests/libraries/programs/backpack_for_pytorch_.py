"""backpack-for-pytorch: gradients of single samples, variances and curvature besides the gradient."""

import torch
from backpack import backpack, extend
from backpack.extensions import KFAC, BatchGrad, BatchL2Grad, DiagGGNExact, DiagHessian, SumGradSquared, Variance

torch.manual_seed(0)
model = extend(
    torch.nn.Sequential(
        torch.nn.Conv2d(1, 3, 3),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(3 * 16, 4),
        torch.nn.Sigmoid(),
        torch.nn.Linear(4, 3),
    )
)
loss_function = extend(torch.nn.CrossEntropyLoss())
x, y = torch.randn(5, 1, 6, 6), torch.randint(0, 3, (5,))
loss = loss_function(model(x), y)
with backpack(
    BatchGrad(), BatchL2Grad(), Variance(), SumGradSquared(), DiagGGNExact(), DiagHessian(), KFAC(mc_samples=1)
):
    loss.backward()
print(f"{loss.item():.5f}")
for name, p in model.named_parameters():
    print(
        name,
        tuple(p.grad_batch.shape),
        f"{p.grad_batch.sum(0).sub(p.grad).abs().max().item():.1f}",
        f"{p.variance.sum().item():.5f} {p.batch_l2.sum().item():.5f} {p.diag_ggn_exact.sum().item():.5f} {p.diag_h.sum().item():.5f}",
        [tuple(k.shape) for k in p.kfac],
    )
