"""torchvision: detection and segmentation models, and its operators with their gradients."""

import torch
import torchvision
from torchvision import ops

torch.manual_seed(0)
x = torch.randn(2, 8, 10, 12, dtype=torch.float64, requires_grad=True)
rois = torch.tensor([[0.0, 1, 1, 7, 6], [1, 0, 2, 9, 8], [0, -3, -2, 4, 4], [1, 20, 20, 30, 30]], dtype=torch.float64)
for name, out in (
    ("roi_align", ops.roi_align(x, rois, (2, 2), 0.9, 2, True)),
    ("roi_pool", ops.roi_pool(x, rois, (2, 2), 0.9)),
    ("ps_roi_align", ops.ps_roi_align(x, rois, (2, 2), 0.9, 2)),
    ("ps_roi_pool", ops.ps_roi_pool(x, rois, (2, 2), 0.9)),
):
    (gradient,) = torch.autograd.grad(out.square().sum(), x)
    print(name, tuple(out.shape), f"{out.sum().item():.5f} {gradient.abs().sum().item():.5f}")
layer = ops.DeformConv2d(8, 4, 3, padding=1).double()
offset = torch.randn(2, 18, 10, 12, dtype=torch.float64, requires_grad=True)
mask = torch.rand(2, 9, 10, 12, dtype=torch.float64, requires_grad=True)
layer(x, offset, mask).square().sum().backward()
print(f"{offset.grad.abs().sum().item():.4f} {mask.grad.sum().item():.4f} {layer.weight.grad.abs().sum().item():.4f}")
corners = torch.rand(40, 2) * 20
boxes, scores = torch.cat([corners, corners + 1 + torch.rand(40, 2) * 10], 1), torch.rand(40)
print(ops.nms(boxes, scores, 0.3).tolist(), ops.batched_nms(boxes, scores, torch.arange(40) % 3, 0.3).tolist()[:5])
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(ops.roi_align(torch.ones(1, 2, 6, 6).bfloat16(), [torch.tensor([[0.0, 0, 4, 4]])], 2).dtype)

torch.manual_seed(1)
detector = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(
    weights=None, weights_backbone=None, num_classes=3, min_size=64, max_size=96
)
images = [torch.rand(3, 64, 80), torch.rand(3, 70, 64)]
targets = [
    {"boxes": torch.tensor([[5.0, 5, 30, 40]]), "labels": torch.tensor([1])},
    {"boxes": torch.tensor([[10.0, 8, 50, 60], [0, 0, 20, 20]]), "labels": torch.tensor([2, 1])},
]
losses = detector(images, targets)
print({name: f"{loss.item():.3f}" for name, loss in sorted(losses.items())})
sum(losses.values()).backward()
print(f"{detector.roi_heads.box_predictor.cls_score.weight.grad.abs().sum().item():.3f}")
with torch.no_grad():
    found = detector.eval()(images)
print([sorted(each) for each in found], [each["boxes"].shape[1] for each in found])
segmenter = torchvision.models.segmentation.lraspp_mobilenet_v3_large(
    weights=None, weights_backbone=None, num_classes=4
)
with torch.no_grad():
    print(tuple(segmenter.eval()(torch.rand(1, 3, 64, 64))["out"].shape))
picture = (torch.arange(3 * 8 * 8) % 256).reshape(3, 8, 8).to(torch.uint8)
decoded = torchvision.io.decode_image(torchvision.io.encode_png(picture))
print(
    torch.equal(decoded, picture),
    torchvision.io.decode_png(torchvision.io.encode_png(picture), torchvision.io.ImageReadMode.GRAY).shape,
)
