"""linear_operator: structured matrices: products, solves, determinants."""

import torch
from linear_operator import operators, to_linear_operator

torch.manual_seed(0)
root = torch.randn(5, 5, dtype=torch.float64, requires_grad=True)
low_rank = operators.RootLinearOperator(root)
matrix = low_rank + operators.DiagLinearOperator(torch.rand(5, dtype=torch.float64) + 1)
b = torch.randn(5, 2, dtype=torch.float64)
solution = matrix.solve(b)
print(f"{solution.sum().item():.6f} {matrix.logdet().item():.6f} {(matrix @ b).sum().item():.6f}")
quad, logdet = matrix.inv_quad_logdet(b, logdet=True)
(quad + logdet).backward()
print(f"{quad.item():.6f} {root.grad.abs().sum().item():.5f}")
kron = operators.KroneckerProductLinearOperator(
    to_linear_operator(torch.eye(2) * 2), to_linear_operator(torch.ones(2, 2) + torch.eye(2))
)
print(kron.to_dense().tolist(), f"{kron.logdet().item():.5f}")
toeplitz = operators.ToeplitzLinearOperator(torch.tensor([4.0, 1.0, 0.5, 0.1]))
print(f"{toeplitz.matmul(torch.arange(4.0)).tolist()} {toeplitz.cholesky().to_dense().sum().item():.5f}")
