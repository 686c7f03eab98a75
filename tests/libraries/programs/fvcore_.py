"""fvcore: operations and parameters of a model counted, and its helpers for training."""

import torch
from fvcore.common.param_scheduler import (
    CompositeParamScheduler,
    ConstantParamScheduler,
    CosineParamScheduler,
    LinearParamScheduler,
)
from fvcore.nn import (
    FlopCountAnalysis,
    giou_loss,
    parameter_count,
    parameter_count_table,
    sigmoid_focal_loss,
    smooth_l1_loss,
)

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 5)
)
print(dict(parameter_count(model)))
print(parameter_count_table(model).count("|"))
flops = FlopCountAnalysis(model, torch.ones(2, 3, 8, 8))
print(flops.total(), sorted(flops.by_operator().items()), sorted(flops.by_module().items()))
x, y = torch.randn(6, 5, requires_grad=True), (torch.rand(6, 5) > 0.5).float()
loss = sigmoid_focal_loss(x, y, alpha=0.25, reduction="mean") + smooth_l1_loss(x, y, beta=0.5, reduction="mean")
loss.backward()
print(f"{loss.item():.5f} {x.grad.abs().sum().item():.5f}")
boxes = torch.tensor([[0.0, 0, 2, 2], [1, 1, 4, 3]])
print(f"{giou_loss(boxes, boxes + 0.5, reduction='sum').item():.5f}")
schedule = CompositeParamScheduler(
    [ConstantParamScheduler(0.1), CosineParamScheduler(0.1, 0.01), LinearParamScheduler(0.01, 0.0)],
    [0.2, 0.5, 0.3],
    ["rescaled"] * 3,
)
print([f"{schedule(k / 10):.4f}" for k in range(10)])
