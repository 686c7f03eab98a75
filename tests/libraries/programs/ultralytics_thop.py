"""ultralytics-thop: multiplications and parameters of models, also with an operator of one's own, by its module thop."""

import torch
from thop import clever_format, profile

torch.manual_seed(0)


class Own(torch.nn.Module):
    def forward(self, x):
        return x * 2


def count(module, inputs, output):
    module.total_ops += 7


model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1),
    torch.nn.BatchNorm2d(8),
    torch.nn.ReLU(),
    Own(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(8, 10),
)
macs, params = profile(model, inputs=(torch.randn(1, 3, 16, 16),), custom_ops={Own: count}, verbose=False)
print(macs, params, clever_format([macs, params], "%.3f"))
macs, params = profile(torch.nn.LSTM(4, 6, 2, batch_first=True), inputs=(torch.randn(2, 5, 4),), verbose=False)
print(macs, params, [name for name, _ in model.named_buffers()][:2])
