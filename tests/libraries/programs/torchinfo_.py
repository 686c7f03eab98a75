"""torchinfo: the table of a model."""

import torch
from torchinfo import summary

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 10)
)
print(
    summary(
        model, input_size=(2, 3, 8, 8), verbose=0, col_names=("input_size", "output_size", "num_params", "mult_adds")
    )
)
