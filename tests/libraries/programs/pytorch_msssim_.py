"""pytorch-msssim: similarity of pictures, and a picture made alike by its gradient."""

import torch
from pytorch_msssim import MS_SSIM, SSIM, ms_ssim, ssim

torch.manual_seed(0)
x = torch.rand(2, 3, 192, 192)
y = (x + 0.1 * torch.randn_like(x)).clamp(0, 1).requires_grad_()
print(f"{ssim(x, y, data_range=1.0).item():.5f} {ms_ssim(x, y, data_range=1.0).item():.5f}")
loss = 1 - SSIM(data_range=1.0, channel=3)(x, y)
loss.backward()
print(f"{loss.item():.5f} {y.grad.norm().item():.6f}")
print([f"{v:.5f}" for v in MS_SSIM(data_range=1.0, channel=3, size_average=False)(x, y).tolist()])
