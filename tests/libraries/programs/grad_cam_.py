"""grad-cam: what a network looks at, by four methods."""

import torch
from pytorch_grad_cam import EigenCAM, GradCAM, GradCAMPlusPlus, LayerCAM
from pytorch_grad_cam.utils.image import show_cam_on_image
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.Conv2d(8, 8, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(8, 4),
).eval()
x = torch.rand(2, 3, 16, 16)
targets = [ClassifierOutputTarget(1), ClassifierOutputTarget(2)]
for kind in (GradCAM, GradCAMPlusPlus, LayerCAM, EigenCAM):
    with kind(model=model, target_layers=[model[2]]) as cam:
        grey = cam(input_tensor=x, targets=targets)
    print(kind.__name__, grey.shape, f"{float(grey.mean()):.4f}")
print(show_cam_on_image(x[0].permute(1, 2, 0).numpy(), grey[0], use_rgb=True).shape)
