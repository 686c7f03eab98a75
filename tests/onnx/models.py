"""Ten kinds of model, as programs write them, with example arguments and the sizes that may vary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torchlike as torch
from torchlike import nn

F = nn.functional


class Case(NamedTuple):
    """A model, its arguments, and by the number of a tensor which of its sizes vary."""

    model: nn.Module
    args: tuple[Any, ...]
    varying: dict[int, dict[int, str]]


def cnn() -> Case:
    layers = [
        nn.Conv2d(1, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 13 * 13, 10),
    ]
    return Case(nn.Sequential(*layers), (torch.randn(2, 1, 28, 28),), {0: {0: "batch"}})


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.second, self.norm2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm2(self.second(F.relu(self.norm(self.first(x)))))
        return F.relu(y + self.shortcut(x))


def resnet18(width: int = 8) -> Case:
    layers: list[nn.Module] = [
        nn.Conv2d(3, width, 7, 2, 3, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(True),
        nn.MaxPool2d(3, 2, 1),
    ]
    inputs = width
    for stage in range(4):
        outputs = width * 2**stage
        layers += [Residual(inputs, outputs, 2 if stage else 1), Residual(outputs, outputs, 1)]
        inputs = outputs
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 10))
    return Case(model, (torch.randn(2, 3, 64, 64),), {0: {0: "batch", 2: "height", 3: "width"}})


class ViT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 32, 8, 8)
        self.cls, self.pos = nn.Parameter(torch.randn(1, 1, 32)), nn.Parameter(torch.randn(1, 17, 32))
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos
        return self.head(self.norm(self.encoder(x))[:, 0])


def vit() -> Case:
    return Case(ViT(), (torch.randn(2, 3, 32, 32),), {0: {0: "batch"}})


class Bert(nn.Module):
    def __init__(self, words: int = 50, width: int = 32) -> None:
        super().__init__()
        self.word, self.position, self.segment = (
            nn.Embedding(words, width),
            nn.Embedding(64, width),
            nn.Embedding(2, width),
        )
        self.norm = nn.LayerNorm(width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, batch_first=True)
        self.encoder, self.pooler = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(width, width)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> dict[str, torch.Tensor]:
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.word(input_ids) + self.position(positions) + self.segment(torch.zeros_like(input_ids))
        x = self.encoder(self.norm(x), src_key_padding_mask=attention_mask == 0)
        return {"last_hidden_state": x, "pooler_output": torch.tanh(self.pooler(x[:, 0]))}


def bert() -> Case:
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    varying = {0: {0: "batch", 1: "length"}, 1: {0: "batch", 1: "length"}}
    return Case(Bert(), (torch.randint(0, 50, (2, 7)), mask), varying)


class GPT(nn.Module):
    def __init__(self, words: int = 50, width: int = 32, layers: int = 2, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.word, self.position = nn.Embedding(words, width), nn.Embedding(64, width)
        self.blocks = nn.ModuleList()
        for _ in range(layers):
            parts = {
                "norm": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
                "norm2": nn.LayerNorm(width), "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width),
            }  # fmt: skip
            self.blocks.append(nn.ModuleDict(parts))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.word.weight

    def forward(self, ids: torch.Tensor, cache: Any = None) -> Any:
        batch, length = ids.shape
        past = 0 if cache is None else cache[0][0].shape[2]
        x, new = self.word(ids) * 0.1 + self.position(torch.arange(past, past + length)), []
        mask = torch.ones(length, past + length, dtype=torch.bool).tril(past)
        for number, block in enumerate(self.blocks):
            parts: Any = block
            q, k, v = (
                part.view(batch, length, self.heads, -1).transpose(1, 2)
                for part in parts["qkv"](parts["norm"](x)).chunk(3, -1)
            )
            if cache is not None:
                k, v = torch.cat([cache[number][0], k], 2), torch.cat([cache[number][1], v], 2)
            new.append((k, v))
            seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            x = x + parts["out"](seen.transpose(1, 2).reshape(batch, length, -1))
            x = x + parts["down"](F.gelu(parts["up"](parts["norm2"](x)), approximate="tanh"))
        return self.head(self.norm(x)) * 0.1, new


def gpt() -> Case:
    return Case(GPT(), (torch.randint(0, 50, (2, 6)),), {0: {0: "batch", 1: "length"}})


def gpt_with_cache() -> Case:
    cache = [(torch.randn(2, 4, 5, 8), torch.randn(2, 4, 5, 8)) for _ in range(2)]
    varying = {0: {0: "batch", 1: "length"}, **{number: {0: "batch", 2: "past"} for number in (1, 2, 3, 4)}}
    return Case(GPT(), (torch.randint(0, 50, (2, 3)), cache), varying)


class Recurrent(nn.Module):
    def __init__(self, kind: Callable[..., Any]) -> None:
        super().__init__()
        self.word, self.out = nn.Embedding(50, 16), nn.Linear(48, 5)
        self.rnn = kind(16, 24, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.rnn(self.word(x))[0][:, -1])


def lstm() -> Case:
    return Case(Recurrent(nn.LSTM), (torch.randint(0, 50, (2, 9)),), {0: {0: "batch", 1: "length"}})


def gru() -> Case:
    return Case(Recurrent(nn.GRU), (torch.randint(0, 50, (2, 9)),), {0: {0: "batch", 1: "length"}})


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()

        def block(inputs: int, outputs: int) -> nn.Module:
            return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(2, outputs), nn.SiLU())

        self.first, self.second, self.lowest = block(3, 8), block(8, 16), block(16, 32)
        self.up, self.third = nn.ConvTranspose2d(32, 16, 2, 2), block(32, 16)
        self.larger, self.fourth = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), block(24, 8)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.first(x)
        second = self.second(F.max_pool2d(first, 2))
        x = self.third(torch.cat([self.up(self.lowest(F.avg_pool2d(second, 2))), second], 1))
        return self.out(self.fourth(torch.cat([self.larger(x), first], 1)))


def unet() -> Case:
    return Case(UNet(), (torch.randn(2, 3, 32, 32),), {0: {0: "batch"}})


class Detector(nn.Module):
    """Two heads over a grid each, and the ten best boxes of both."""

    def __init__(self, classes: int = 4, anchors: int = 3) -> None:
        super().__init__()
        self.classes, self.anchors = classes, anchors
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.LeakyReLU(0.1), nn.Conv2d(8, 16, 3, 2, 1), nn.Hardswish()
        )
        self.fine = nn.Conv2d(16, anchors * (5 + classes), 1)
        self.coarse = nn.Sequential(nn.Conv2d(16, 16, 3, 2, 1), nn.SiLU(), nn.Conv2d(16, anchors * (5 + classes), 1))

    def boxes(self, y: torch.Tensor, stride: int) -> torch.Tensor:
        batch, _, height, width = y.shape
        y = y.view(batch, self.anchors, 5 + self.classes, height, width).permute(0, 1, 3, 4, 2)
        rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        center = (y[..., :2].sigmoid() * 2 - 0.5 + torch.stack([columns, rows], -1)) * stride
        size = (y[..., 2:4].sigmoid() * 2) ** 2 * stride
        parts = [center - size / 2, center + size / 2, y[..., 4:].sigmoid()]
        return torch.cat(parts, -1).reshape(batch, -1, 5 + self.classes)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        features = self.body(x)
        found = torch.cat([self.boxes(self.fine(features), 4), self.boxes(self.coarse(features), 8)], 1)
        scores, classes = (found[..., 5:] * found[..., 4:5]).max(-1)
        best, places = scores.topk(10, dim=1)
        return (
            torch.gather(found[..., :4], 1, places[..., None].expand(-1, -1, 4)),
            best,
            torch.gather(classes, 1, places),
        )


def detector() -> Case:
    return Case(Detector(), (torch.randn(2, 3, 64, 64),), {0: {0: "batch"}})


MODELS: dict[str, Callable[[], Case]] = {
    made.__name__: made for made in (cnn, resnet18, vit, bert, gpt, gpt_with_cache, lstm, gru, unet, detector)
}


def larger(case: Case, by: int) -> tuple[Any, ...]:
    """Arguments whose sizes are larger where they may vary."""
    number = iter(range(1000))

    def grown(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(grown, value))
        varying = case.varying.get(next(number), {})
        shape = [size + by * (dim in varying) for dim, size in enumerate(value.shape)]
        return torch.randn(shape) if value.is_floating_point() else torch.randint(1, 50, shape)

    return tuple(grown(value) for value in case.args)


def made(name: str) -> Case:
    """The model of a name, in evaluation mode, with the same weights each time."""
    torch.manual_seed(0)
    case = MODELS[name]()
    case.model.eval()
    return case


def dynamic_shapes(case: Case) -> Any:
    """What varies, in the structure of the arguments."""
    number = iter(range(1000))

    def said(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(said, value))
        return case.varying.get(next(number), {})

    return tuple(said(value) for value in case.args)
