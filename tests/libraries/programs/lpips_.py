"""lpips: a perceptual distance between pictures, trained by its gradient."""

import warnings

warnings.filterwarnings("ignore")
import lpips
import torch

torch.manual_seed(0)
loss_function = lpips.LPIPS(net="squeeze", pretrained=False, pnet_rand=True, verbose=False)
x, y = torch.rand(2, 3, 64, 64) * 2 - 1, torch.rand(2, 3, 64, 64) * 2 - 1
y.requires_grad_()
distance = loss_function(x, y)
print(tuple(distance.shape), [f"{v:.5f}" for v in distance.flatten().tolist()])
distance.sum().backward()
print(f"{y.grad.norm().item():.6f}")
