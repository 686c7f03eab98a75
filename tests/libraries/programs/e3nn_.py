"""e3nn: spherical harmonics, tensor products and a layer that turns with its input."""

import torch
from e3nn import nn as e3, o3

torch.manual_seed(0)
irreps = o3.Irreps("4x0e + 2x1o")
sh = o3.Irreps.spherical_harmonics(2)
positions = torch.randn(10, 3)
harmonics = o3.spherical_harmonics(sh, positions, normalize=True, normalization="component")
print(sh, tuple(harmonics.shape), f"{harmonics.sum().item():.4f}")
product = o3.FullyConnectedTensorProduct(irreps, sh, irreps)
x = irreps.randn(10, -1)
out = product(x, harmonics)
print(product.weight_numel, f"{out.square().mean().item():.5f}")
rotation = o3.rand_matrix()
d_in, d_sh = irreps.D_from_matrix(rotation), sh.D_from_matrix(rotation)
turned = product(x @ d_in.T, harmonics @ d_sh.T)
print((turned - out @ d_in.T).abs().max().item() < 1e-4)
linear = o3.Linear(irreps, o3.Irreps("3x0e + 1x1o"))
gate = e3.Gate("2x0e", [torch.tanh], "1x0e", [torch.sigmoid], "1x1o")
loss = gate(linear(out)[:, :6]).square().sum()
loss.backward()
print(f"{loss.item():.5f} {linear.weight.grad.sum().item():.4f}")
print(f"{o3.wigner_3j(1, 1, 2).abs().sum().item():.4f}")
