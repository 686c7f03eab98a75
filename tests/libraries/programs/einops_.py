"""einops: rearranging, reducing, einsum, and its layers."""

import torch
from einops import einsum, rearrange, reduce, repeat
from einops.layers.torch import Rearrange, Reduce

torch.manual_seed(0)
x = torch.randn(2, 3, 8, 8, requires_grad=True)
patches = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
print(tuple(patches.shape), patches.sum().item(), patches[1, 2, 5].item())
print(reduce(x, "b c h w -> b c", "max").sum().item(), repeat(x[:, :, 0, 0], "b c -> b (2 c)").sum().item())
print(einsum(patches, torch.randn(5, 48), "b n d, o d -> b n o").square().mean().item())
model = torch.nn.Sequential(
    Rearrange("b c h w -> b (c h w)"), torch.nn.Linear(192, 8), Reduce("b (k n) -> b k", "mean", n=4)
)
loss = model(x).square().sum()
loss.backward()
print(loss.item(), x.grad.abs().sum().item(), model[1].weight.grad.sum().item())
