"""timm: six families, their features, an optimizer and a scheduler."""

import timm
import torch
from timm.data import Mixup
from timm.loss import SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler

x = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
for name, options in [
    ("resnet10t", {}),
    ("vit_tiny_patch16_224", {"img_size": 32}),
    ("efficientnet_b0", {}),
    ("mobilenetv3_small_050", {}),
    ("convnext_atto", {}),
    ("mixer_s32_224", {"img_size": 32}),
]:
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=5, **options).eval()
    with torch.no_grad():
        print(
            name,
            sum(p.numel() for p in model.parameters()),
            f"{model(x).sum().item():.4f} {model.forward_features(x).abs().mean().item():.4f}",
        )
torch.manual_seed(0)
features = timm.create_model("resnet10t", features_only=True).eval()
with torch.no_grad():
    print([tuple(f.shape) for f in features(x)])
import numpy as np

np.random.seed(0)
model = timm.create_model("mobilenetv3_small_050", num_classes=5).train()
optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
scheduler = CosineLRScheduler(optimizer, t_initial=5, warmup_t=2, warmup_lr_init=1e-5)
pictures = torch.rand(
    2, 3, 64, 64, generator=torch.Generator().manual_seed(1)
)  # smaller ones leave batch norm two values, and rounding rules
mixed, target = Mixup(mixup_alpha=0.8, num_classes=5)(pictures, torch.tensor([1, 3]))
for epoch in range(3):
    loss = SoftTargetCrossEntropy()(model(mixed), target)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    scheduler.step(epoch)
    print(f"{loss.item():.4f} {optimizer.param_groups[0]['lr']:.6f}")
