"""One training step of LeNet and of ResNet-18 from the same weights: loss, gradients and statistics are PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import torchlike
from torchlike.vision.models import resnet18

torch = pytest.importorskip("torch")


def lenet(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10),
    )  # fmt: skip


class Block(torch.nn.Module):
    """Two convolutions and a shortcut that is added; its parts have torchvision's names."""

    def __init__(self, enter: int, leave: int, stride: int) -> None:
        super().__init__()
        nn = torch.nn
        self.conv1, self.bn1 = nn.Conv2d(enter, leave, 3, stride, 1, bias=False), nn.BatchNorm2d(leave)
        self.conv2, self.bn2 = nn.Conv2d(leave, leave, 3, 1, 1, bias=False), nn.BatchNorm2d(leave)
        self.downsample = None
        if stride != 1:
            self.downsample = nn.Sequential(nn.Conv2d(enter, leave, 1, stride, bias=False), nn.BatchNorm2d(leave))

    def forward(self, x: Any) -> Any:
        beside = x if self.downsample is None else self.downsample(x)
        return torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))) + beside)


class ResNet18(torch.nn.Module):
    """He et al., 2015, with torchvision's names."""

    def __init__(self) -> None:
        super().__init__()
        nn = torch.nn
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        widths = [64, 64, 128, 256, 512]
        for number in range(1, 5):
            enter, leave = widths[number - 1 : number + 1]
            layer = nn.Sequential(Block(enter, leave, 1 if number == 1 else 2), Block(leave, leave, 1))
            self.add_module(f"layer{number}", layer)
        self.fc = nn.Linear(512, 1000)

    def forward(self, x: Any) -> Any:
        x = torch.nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        for number in range(1, 5):
            x = getattr(self, f"layer{number}")(x)
        return self.fc(x.mean((2, 3)))


def step(framework: Any, model: Any, pictures: np.ndarray, labels: np.ndarray) -> tuple[float, dict[str, Any]]:
    model.train()
    out = model(framework.tensor(pictures))
    loss = framework.nn.functional.cross_entropy(out, framework.tensor(labels))
    loss.backward()
    found = {name: p.grad for name, p in model.named_parameters()} | dict(model.named_buffers())
    return loss.item(), {name: tensor.numpy() for name, tensor in found.items()}


@pytest.mark.parametrize(
    ("theirs", "ours", "shape"),
    [(lambda: lenet(torch.nn), lambda: lenet(torchlike.nn), (8, 1, 28, 28)), (ResNet18, resnet18, (4, 3, 64, 64))],
    ids=["lenet", "resnet18"],
)
def test_one_step(theirs, ours, shape):
    rng = np.random.default_rng(0)
    pictures, labels = rng.standard_normal(shape, np.float32), rng.integers(0, 10, shape[0])
    torch.manual_seed(0)
    theirs, ours = theirs(), ours()
    ours.load_state_dict({name: torchlike.tensor(t.numpy()) for name, t in theirs.state_dict().items()})
    (wanted_loss, wanted), (loss, found) = (
        step(torch, theirs, pictures, labels),
        step(torchlike, ours, pictures, labels),
    )
    assert loss == pytest.approx(wanted_loss, rel=1e-5)
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, rtol=0, atol=1e-4 * abs(values).max(), err_msg=name)
