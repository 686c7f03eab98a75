"""denoising-diffusion-pytorch: a small U-Net, its training loss and samples."""

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, Unet

torch.manual_seed(0)
model = Unet(dim=8, dim_mults=(1, 2), flash_attn=False, channels=1, attn_dim_head=8, attn_heads=2)
diffusion = GaussianDiffusion(model, image_size=8, timesteps=20, sampling_timesteps=4)
optimizer = torch.optim.Adam(diffusion.parameters(), lr=1e-3)
images = torch.rand(4, 1, 8, 8)
for _ in range(4):
    loss = diffusion(images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
torch.manual_seed(1)
samples = diffusion.sample(batch_size=2)
print(tuple(samples.shape), f"{samples.mean().item():.4f}")
