"""torchvision: models, transforms, boxes, grids of pictures."""

import torch
import torchvision
from torchvision import transforms
from torchvision.transforms import v2

x = torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(1))
for name in ("resnet18", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5"):
    torch.manual_seed(0)
    model = getattr(torchvision.models, name)(num_classes=5).eval()
    with torch.no_grad():
        print(name, sum(p.numel() for p in model.parameters()), f"{model(x).sum().item():.4f}")
torch.manual_seed(0)
change = transforms.Compose(
    [
        transforms.RandomResizedCrop(32),
        transforms.RandomHorizontalFlip(),
        transforms.ColorJitter(0.3, 0.3, 0.3, 0.1),
        transforms.RandomErasing(1.0),
        transforms.Normalize([0.5] * 3, [0.2] * 3),
    ]
)
print(f"{change(x[0]).sum().item():.3f} {change(x[1]).abs().mean().item():.4f}")
print(
    f"{v2.Compose([v2.RandomAffine(20), v2.GaussianBlur(3), v2.ToDtype(torch.float32, scale=True)])(x).mean().item():.4f}"
)
boxes = torch.tensor([[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]], dtype=torch.float32)
print(
    torchvision.ops.box_iou(boxes, boxes).sum().item(),
    tuple(torchvision.utils.make_grid(x).shape),
    torchvision.ops.box_area(boxes).tolist(),
)
