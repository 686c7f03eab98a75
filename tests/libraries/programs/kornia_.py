"""kornia: colours, filters, geometry, augmentation."""

import kornia
import torch

x = torch.rand(2, 3, 24, 24, generator=torch.Generator().manual_seed(1), requires_grad=True)
print(
    f"{kornia.color.rgb_to_lab(x).mean().item():.4f} {kornia.color.rgb_to_hsv(x).mean().item():.4f} {kornia.color.rgb_to_grayscale(x).sum().item():.3f}"
)
blurred = kornia.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5))
edges = kornia.filters.sobel(blurred)
edges.sum().backward()
print(
    f"{edges.mean().item():.5f} {x.grad.abs().sum().item():.4f} {kornia.filters.median_blur(x, (3, 3)).mean().item():.5f}"
)
turned = kornia.geometry.rotate(x, torch.tensor([30.0, -10.0]))
warped = kornia.geometry.warp_perspective(x, torch.eye(3).repeat(2, 1, 1) + 0.01, (16, 16))
print(
    f"{turned.sum().item():.3f} {warped.sum().item():.3f} {kornia.metrics.psnr(x, x * 0.9, 1.0).item():.3f} {kornia.losses.ssim_loss(x, x * 0.8, 5).item():.4f}"
)
torch.manual_seed(0)
change = kornia.augmentation.AugmentationSequential(
    kornia.augmentation.RandomAffine(15.0, p=1.0), kornia.augmentation.RandomHorizontalFlip(p=0.5), data_keys=["input"]
)
print(f"{change(x.detach()).mean().item():.4f}")
