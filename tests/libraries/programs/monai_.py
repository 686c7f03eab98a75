"""MONAI: a 3-D U-Net with its losses, metrics, transforms and sliding windows; a ViT."""

import torch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, FocalLoss
from monai.metrics import DiceMetric, compute_hausdorff_distance
from monai.networks.nets import DynUNet, UNet, ViT
from monai.transforms import AsDiscrete, Compose, RandFlipd, RandRotate90d, ScaleIntensityd

torch.manual_seed(0)
image = torch.randn(2, 1, 16, 16, 16)
label = (image > 0.5).float()
network = UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1)
optimizer = torch.optim.Adam(network.parameters(), 0.01)
loss_of = DiceCELoss(to_onehot_y=True, softmax=True)
for _ in range(3):
    loss = loss_of(network(image), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
network.eval()
with torch.no_grad():
    whole = sliding_window_inference(image, (8, 8, 8), 4, network, overlap=0.25, mode="gaussian")
    print(whole.shape, f"{whole.mean().item():.4f}")
    predicted = AsDiscrete(argmax=True, to_onehot=2)(whole[0])
    metric = DiceMetric(include_background=False, reduction="mean")
    metric(y_pred=[predicted], y=[AsDiscrete(to_onehot=2)(label[0])])
    print(f"{metric.aggregate().item():.4f}")
    box = torch.zeros(1, 2, 8, 8)
    box[:, :, 2:5, 2:5] = 1
    print(compute_hausdorff_distance(box, box.roll(1, -1), include_background=True).tolist())
print(f"{FocalLoss()(whole[:, 1:], label).item():.4f}")
transforms = Compose([ScaleIntensityd("image"), RandFlipd(["image"], 1.0, 1), RandRotate90d(["image"], 1.0)])
transforms.set_random_state(0)
out = transforms({"image": image[0]})["image"]
print(type(out).__name__, out.shape, f"{out.mean().item():.4f} {out[0, 0, 0, 0].item():.4f}")
vit = ViT(
    in_channels=1,
    img_size=(16, 16),
    patch_size=(4, 4),
    hidden_size=16,
    mlp_dim=32,
    num_layers=2,
    num_heads=4,
    spatial_dims=2,
)
print(f"{vit(image[:, :, 0])[0].square().sum().item():.3f}")
dynamic = DynUNet(2, 1, 2, [3, 3, 3], [1, 2, 2], [2, 2], filters=[4, 8, 16], deep_supervision=True, deep_supr_num=1)
print(dynamic(image[:, :, 0]).shape)
