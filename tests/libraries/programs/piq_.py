"""piq: nine measures of the quality of pictures."""

import piq
import torch

torch.manual_seed(0)
x = torch.rand(2, 3, 96, 96)
y = (x + 0.1 * torch.randn_like(x)).clamp(0, 1).requires_grad_()
for name in ("psnr", "ssim", "gmsd", "vif_p", "fsim", "vsi", "mdsi", "haarpsi", "dss"):
    print(name, f"{getattr(piq, name)(x, y, data_range=1.0).item():.4f}")
print(f"{piq.total_variation(x).item():.2f} {piq.multi_scale_gmsd(x, y, data_range=1.0).item():.4f}")
loss = piq.SSIMLoss(data_range=1.0)(x, y) + piq.GMSDLoss(data_range=1.0)(x, y)
loss.backward()
print(f"{loss.item():.5f} {y.grad.norm().item():.5f}")
a, b = torch.randn(40, 8), torch.randn(40, 8) + 0.5
print(f"{piq.FID()(a, b).item():.3f} {piq.KID()(a, b).item():.3f}")
