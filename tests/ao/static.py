"""Static quantization: lines and programs whose outcome is compared with PyTorch's."""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

# x, y, v, u are quantized with one scale, a and b are matrices of few bits, f adds, q has quantized modules and qf functions.
CALLS = """
x.mean()
x.mean(2)
F.leaky_relu(x, 0.1)
F.relu6(x)
F.relu(x.clone(), inplace=True)
nn.ReLU(inplace=True)(x.clone())
F.hardtanh(x)
torch.clamp(x, -1, 1)
x.clamp(min=0)
F.max_pool2d(x, 3, 2, 1)
nn.AvgPool2d(2, 2, 1)(x)
F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
F.adaptive_avg_pool2d(x, 1)
F.adaptive_avg_pool2d(x, (2, 3))
F.avg_pool3d(u, 2)
F.adaptive_avg_pool3d(u, 2)
F.interpolate(x, scale_factor=2)
F.interpolate(x, size=(5, 5), mode='bilinear', align_corners=True)
nn.Dropout().eval()(x)
F.pad(x, (1, 1))
nn.ReflectionPad2d(1)(x)
torch.stack([x, x])
torch.cat([x, y], 1)
torch.chunk(x, 2)[0]
F.pixel_shuffle(x, 2)
x.expand(3, 2, 4, 4, 4)
x.unbind(0)[1]
x.repeat(2, 1, 1, 1)
x.flip(0)
F.max_pool1d(v, 2)
torch.sigmoid(x)
torch.tanh(x)
F.hardsigmoid(x)
torch.flatten(x, 1)
f.add(x, y)
f.add_relu(x, y)
f.mul(x, y)
f.cat([x, y], 1)
f.matmul(a, b)
f.add_scalar(x, 1.5)
f.add_scalar(x, 10.0)
f.add_scalar(x, -20.0)
f.mul_scalar(x, 2.0)
f.mul_scalar(x, -0.5)
f.mul_scalar(x, 0.0)
qf.elu(x, 0.1, 50)
qf.celu(x, 0.1, 50, 0.7)
qf.hardswish(x, 0.1, 50)
qf.leaky_relu(x, 0.2, scale=0.1, zero_point=50)
qf.hardtanh(x, -1, 2)
qf.avg_pool2d(x, 2)
qf.adaptive_avg_pool2d(x, 3)
qf.max_pool2d(x, 2)
qf.interpolate(x, scale_factor=2)
qf.conv2d(few(2, 4, 6, 6), weight(3, 4, 3, 3), torch.ones(3), scale=0.3, zero_point=100)
qf.conv2d(few(2, 4, 6, 6), weight(4, 2, 3, 3), None, 2, 1, 1, 2, scale=0.3, zero_point=100)
qf.conv1d(few(2, 4, 6), weight(3, 4, 3), torch.ones(3), dilation=2, scale=0.3, zero_point=100)
qf.conv3d(few(1, 2, 3, 3, 3), weight(3, 2, 2, 2, 2), torch.ones(3), scale=0.3, zero_point=100)
qf.linear(a, weight(3, 6), torch.ones(3), 0.1, 100)
qf.linear(a, weight(3, 6))
q.Hardswish(0.1, 3)(x)
q.ELU(0.1, 3)(x)
q.LeakyReLU(0.1, 3)(x)
q.Sigmoid(0.01, 3)(x)
q.Softmax(1, 0.01, 3)(x)
q.ReLU6()(x)
q.Quantize(0.1, 3, torch.quint8)(x.dequantize())
q.DeQuantize()(x)
q.Linear(3, 4)
q.Conv2d(4, 2, 3, padding=1, bias=False)
q.Conv1d(4, 2, 3, dilation=2)
q.ConvTranspose2d(4, 2, 3, 2, output_padding=1)
q.Conv2d(4, 2, 3)(v)
q.FloatFunctional()(1)
q.FloatFunctional()
q.QFunctional()
qf.conv2d(x.dequantize(), weight(3, 4, 3, 3), None)
qf.avg_pool2d(x.dequantize(), 2)
x + y
F.softmax(x, 1)
""".strip().splitlines()

# A layer between a QuantStub and a DeQuantStub, and the shape of its input.
LAYERS = """
nn.BatchNorm2d(4) | 2 4 3 3
nn.BatchNorm3d(4) | 2 4 3 3 3
nn.LayerNorm(8) | 2 4 8
nn.GroupNorm(2, 4) | 2 4 8
nn.InstanceNorm2d(4, affine=True) | 2 4 4 4
nn.Hardswish() | 2 8
nn.ELU(0.5) | 2 8
nn.LeakyReLU(0.5) | 2 8
nn.ReLU6() | 2 8
nn.Sigmoid() | 2 8
nn.Tanh() | 2 8
nn.Hardsigmoid() | 2 8
nn.Dropout() | 2 8
nn.Conv1d(4, 6, 3, padding=1, padding_mode='reflect') | 2 4 8
nn.Conv2d(4, 6, 3, padding=1, groups=2, dilation=2) | 2 4 6 6
nn.Conv3d(2, 4, 2) | 1 2 3 3 3
nn.Linear(8, 3) | 2 8
nn.Linear(8, 3, bias=False) | 5 2 8
nn.Upsample(scale_factor=2) | 1 2 4 4
nn.MaxPool2d(2) | 1 2 4 4
nn.Sequential(nn.Linear(8, 3), nn.ReLU()) | 2 8
nn.ConvTranspose1d(4, 6, 3, stride=2) | 2 4 8
nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2) | 2 4 5 5
""".strip().splitlines()

BACKENDS = ["fbgemm", "x86", "qnnpack"]


def space(torch: ModuleType) -> dict[str, Any]:
    torch.manual_seed(0)
    q = import_module(f"{torch.__name__}.ao.nn.quantized")
    random = np.random.default_rng(0)

    def quantized(shape: tuple[int, ...], scale: float, zero_point: int, low: int = 0, high: int = 256) -> Any:
        numbers = (random.integers(low, high, shape) - zero_point) * np.float32(scale)
        return torch.quantize_per_tensor(torch.from_numpy(numbers.astype(np.float32)), scale, zero_point, torch.quint8)

    def weight(*shape: int) -> Any:
        numbers = random.standard_normal(shape).astype(np.float32)
        scales, zeros = torch.full((shape[0],), 0.02), torch.zeros(shape[0]).long()
        return torch.quantize_per_channel(torch.from_numpy(numbers), scales, zeros, 0, torch.qint8)

    add = q.QFunctional()
    add.scale, add.zero_point = 0.13, 77
    return {
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
        "q": q,
        "qf": q.functional,
        "f": add,
        "weight": weight,
        "few": lambda *shape: quantized(shape, 0.05, 64, 0, 128),
        "x": quantized((2, 4, 4, 4), 0.05, 100),
        "y": quantized((2, 4, 4, 4), 0.09, 20),
        "v": quantized((2, 3, 8), 0.1, 30),
        "u": quantized((1, 2, 4, 4, 4), 0.1, 7),
        "a": quantized((2, 5, 6), 0.05, 64, 0, 128),
        "b": quantized((2, 6, 3), 0.02, 64, 0, 128),
    }


def text(result: Any) -> str:
    """A result as text, with scales of few digits: observers see what float layers give, whose last bits differ."""
    words = str(result)
    if getattr(result, "is_quantized", False):
        words = (
            f"{tuple(result.shape)} {result.int_repr().flatten().tolist()} {result.q_scale()} {result.q_zero_point()}"
        )
    return re.sub(r"\d+\.\d{7,}", lambda found: f"{float(found[0]):.5g}", words.replace("torchlike", "torch"))


def said(torch: ModuleType, line: str) -> str:
    """Returns a call's result as text, or its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return text(eval(line, space(torch)))
        except Exception as error:
            words = f"{type(error).__name__}: {error}".partition(" with arguments")[0]
            return words.replace("::_", "::").replace(".out'", "'")  # the names of inner operators


def layer(torch: ModuleType, line: str) -> list[str]:
    """Returns the text of a layer that is quantized after it has seen one batch, and its result."""
    words, _, shape = line.partition("|")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ao = import_module(f"{torch.__name__}.ao.quantization")
        names = space(torch)
        # PyTorch's default engine hands transposed convolutions to oneDNN, which gives something else on processors with AVX-512 VNNI.
        vars(import_module(f"{torch.__name__}.backends"))["quantized"].engine = "fbgemm"
        torch.manual_seed(1)
        model = ao.QuantWrapper(torch.nn.Sequential(eval(words, names))).eval()
        config = ao.default_qconfig if "Transpose" in words else ao.get_default_qconfig("fbgemm")
        model.qconfig = model.module.qconfig = config
        batch = torch.randn([int(size) for size in shape.split()])
        observed = ao.prepare(model)
        observed(batch)
        result = ao.convert(observed)
        return [text(result), text(result(batch)), text(list(result.state_dict()))]


def network(torch: ModuleType) -> Any:
    """Returns the network of PyTorch's tutorial, smaller: fused layers, a residual connection, pooling, a linear layer."""
    nn = torch.nn
    ao = import_module(f"{torch.__name__}.ao.quantization")
    functional = import_module(f"{torch.__name__}.ao.nn.quantized").FloatFunctional

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = ao.QuantStub(), ao.DeQuantStub()
            self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
            self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False)
            self.normal = nn.BatchNorm2d(8)
            self.plus = functional()
            self.pool = nn.AdaptiveAvgPool2d(1)
            self.hidden, self.relu = nn.Linear(8, 6), nn.ReLU()
            self.last = nn.Linear(6, 4)

        def forward(self, x: Any) -> Any:
            x = self.first(self.quant(x))
            x = self.plus.add(x, self.normal(self.depthwise(x)))
            x = torch.flatten(self.pool(x), 1)
            return self.dequant(self.last(self.relu(self.hidden(x))))

    torch.manual_seed(3)
    return Network()


FUSED = [["first.0", "first.1", "first.2"], ["depthwise", "normal"], ["hidden", "relu"]]


def after_training(torch: ModuleType, backend: str) -> list[str]:
    """Returns what the tutorial's steps print: fuse, prepare, calibrate, convert, run, save and load."""
    vars(import_module(f"{torch.__name__}.backends"))["quantized"].engine = backend
    ao = import_module(f"{torch.__name__}.ao.quantization")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = network(torch).eval()
        fused = ao.fuse_modules(model, FUSED)
        fused.qconfig = ao.get_default_qconfig(backend)
        prepared = ao.prepare(fused)
        for _ in range(3):
            prepared(torch.randn(4, 3, 8, 8))
        converted = ao.convert(prepared)
        batch = torch.randn(4, 3, 8, 8)
        printed = [text(fused), text(converted), text(converted(batch)), text(list(converted.state_dict()))]
        other = ao.convert(ao.prepare(fused))
        other.load_state_dict(converted.state_dict())
        return [*printed, str(torch.equal(other(batch), converted(batch)))]


def in_training(torch: ModuleType, backend: str) -> list[str]:
    """Returns what training with fake quantization prints, and the converted model."""
    vars(import_module(f"{torch.__name__}.backends"))["quantized"].engine = backend
    ao = import_module(f"{torch.__name__}.ao.quantization")
    trained = import_module(f"{torch.__name__}.ao.nn.intrinsic.qat")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ao.fuse_modules_qat(network(torch).train(), FUSED)
        model.qconfig = ao.get_default_qat_qconfig(backend, 0 if backend == "x86" else 1)
        prepared = ao.prepare_qat(model)
        printed = [text(list(prepared.state_dict()))]
        optimizer = torch.optim.SGD(prepared.parameters(), lr=0.1, momentum=0.9)
        batch, target = torch.randn(4, 3, 8, 8), torch.tensor([0, 1, 2, 3])
        for step in range(5):
            if step == 3:
                prepared.apply(ao.disable_observer)
                prepared.apply(trained.freeze_bn_stats)
            loss = torch.nn.functional.cross_entropy(prepared(batch), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            printed.append(f"{loss.item():.4f}")
        converted = ao.convert(prepared.eval())
        return [*printed, text(prepared(batch)), text(converted), text(converted(batch))]


def everything(torch: ModuleType) -> dict[str, Any]:
    return {
        "calls": {line: said(torch, line) for line in CALLS},
        "layers": {line: layer(torch, line) for line in LAYERS},
        "after training": {backend: after_training(torch, backend) for backend in BACKENDS},
        "in training": {backend: in_training(torch, backend) for backend in BACKENDS},
    }
