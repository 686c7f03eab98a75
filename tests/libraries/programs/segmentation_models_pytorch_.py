"""segmentation-models-pytorch: three decoders over small encoders, their losses and metrics."""

import segmentation_models_pytorch as smp
import torch

torch.set_default_dtype(torch.float64)  # the deepest of these features have two elements for each mean

x, y = torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(0)), torch.zeros(2, 1, 64, 64)
y[:, :, 16:48, 16:48] = 1
for kind, encoder in ((smp.Unet, "resnet18"), (smp.FPN, "mobilenet_v2"), (smp.DeepLabV3Plus, "resnet18")):
    torch.manual_seed(0)
    model = kind(encoder, encoder_weights=None, in_channels=3, classes=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loss_function = smp.losses.DiceLoss("binary", from_logits=True)
    for _ in range(2):
        out = model(x)
        loss = loss_function(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(kind.__name__, tuple(out.shape), f"{loss.item():.5f}")
tp, fp, fn, tn = smp.metrics.get_stats(
    torch.rand(2, 1, 8, 8, generator=torch.Generator().manual_seed(1)),
    y[:, :, :8, :8].long(),
    mode="binary",
    threshold=0.5,
)
print(f"{smp.metrics.accuracy(tp, fp, fn, tn, reduction='micro').item():.4f}")
print(f"{smp.losses.FocalLoss('binary')(out, y).item():.2f}", f"{smp.losses.TverskyLoss('binary')(out, y).item():.2f}")
