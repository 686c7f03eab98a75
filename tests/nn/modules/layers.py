"""A table of layers for `test_layers.py`: each row has a constructor and inputs, and runs with PyTorch and with torchlike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torchlike._missing import pytorch_names
from torchlike.nn.modules import activation

SEED = 7


@dataclass(frozen=True)
class Layer:
    """One layer.

    Args:
        name: The name of the row and of its golden values.
        make: Takes the `torch` namespace and returns a module.
        inputs: Takes the `torch` namespace and returns the arguments of a call; the first one gets a gradient if it is floating point.
    """

    name: str
    make: Callable[[Any], Any]
    inputs: Callable[[Any], tuple[Any, ...]]


def randn(*shape: int) -> Callable[[Any], tuple[Any, ...]]:
    return lambda torch: (torch.randn(*shape),)


def pair(*shape: int) -> Callable[[Any], tuple[Any, ...]]:
    return lambda torch: (torch.randn(*shape), torch.randn(*shape))


def triple(*shape: int) -> Callable[[Any], tuple[Any, ...]]:
    return lambda torch: (torch.randn(*shape), torch.randn(*shape), torch.randn(*shape))


def classes(*shape: int) -> Callable[[Any], tuple[Any, ...]]:
    return lambda torch: (torch.randn(*shape), torch.randint(0, shape[1], (shape[0], *shape[2:])))


def probabilities(*shape: int) -> Callable[[Any], tuple[Any, ...]]:
    return lambda torch: (torch.rand(*shape), torch.rand(*shape))


LAYERS = [
    Layer("Identity", lambda t: t.nn.Identity(3, unused=True), randn(2, 3)),
    Layer("Linear", lambda t: t.nn.Linear(3, 4), randn(2, 3)),
    Layer("Linear_no_bias", lambda t: t.nn.Linear(3, 4, bias=False), randn(5, 2, 3)),
    Layer("Bilinear", lambda t: t.nn.Bilinear(3, 3, 2), pair(4, 3)),
    Layer("Flatten", lambda t: t.nn.Flatten(), randn(2, 3, 4)),
    Layer("Unflatten", lambda t: t.nn.Unflatten(1, (2, 3)), randn(2, 6)),
    Layer("LeakyReLU", lambda t: t.nn.LeakyReLU(0.2), randn(2, 3)),
    Layer("PReLU", lambda t: t.nn.PReLU(3), randn(2, 3)),
    Layer("RReLU", lambda t: t.nn.RReLU().eval(), randn(2, 3)),
    Layer("ELU", lambda t: t.nn.ELU(1.5), randn(2, 3)),
    Layer("CELU", lambda t: t.nn.CELU(1.5), randn(2, 3)),
    Layer("GELU_tanh", lambda t: t.nn.GELU("tanh"), randn(2, 3)),
    Layer("GLU", lambda t: t.nn.GLU(), randn(2, 4)),
    Layer("Hardtanh", lambda t: t.nn.Hardtanh(-0.5, 0.5), randn(2, 3)),
    Layer("Softshrink", lambda t: t.nn.Softshrink(0.3), randn(2, 3)),
    Layer("Softplus", lambda t: t.nn.Softplus(2.0, 30.0), randn(2, 3)),
    Layer("Threshold", lambda t: t.nn.Threshold(0.1, 5.0), randn(2, 3)),
    Layer("Softmax", lambda t: t.nn.Softmax(1), randn(2, 3)),
    Layer("Softmin", lambda t: t.nn.Softmin(0), randn(2, 3)),
    Layer("Softmax2d", lambda t: t.nn.Softmax2d(), randn(2, 3, 2, 2)),
    Layer("LogSoftmax", lambda t: t.nn.LogSoftmax(1), randn(2, 3)),
    Layer("Dropout", lambda t: t.nn.Dropout(0.3), randn(4, 5)),
    Layer("Dropout_eval", lambda t: t.nn.Dropout(0.3).eval(), randn(4, 5)),
    Layer("Dropout2d", lambda t: t.nn.Dropout2d(0.5), randn(2, 4, 2, 2)),
    Layer("AlphaDropout", lambda t: t.nn.AlphaDropout(0.3), randn(4, 5)),
    Layer("Conv1d", lambda t: t.nn.Conv1d(2, 3, 3, stride=2, padding=1), randn(2, 2, 7)),
    Layer("Conv2d", lambda t: t.nn.Conv2d(2, 4, 3), randn(2, 2, 5, 6)),
    Layer("Conv2d_groups", lambda t: t.nn.Conv2d(4, 4, (3, 2), 2, (1, 0), (1, 2), 2, False), randn(1, 4, 6, 7)),
    Layer("Conv2d_same", lambda t: t.nn.Conv2d(1, 2, 3, padding="same"), randn(1, 1, 5, 5)),
    Layer("Conv2d_circular", lambda t: t.nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular"), randn(1, 1, 4, 4)),
    Layer("Conv2d_reflect", lambda t: t.nn.Conv2d(1, 2, 3, padding="same", padding_mode="reflect"), randn(1, 1, 4, 4)),
    Layer("Conv3d", lambda t: t.nn.Conv3d(1, 2, 2), randn(1, 1, 3, 3, 3)),
    Layer("ConvTranspose1d", lambda t: t.nn.ConvTranspose1d(2, 3, 3, 2, output_padding=1), randn(1, 2, 4)),
    Layer("ConvTranspose2d", lambda t: t.nn.ConvTranspose2d(4, 2, 3, 2, 1, groups=2), randn(1, 4, 3, 3)),
    Layer("MaxPool1d", lambda t: t.nn.MaxPool1d(2), randn(2, 2, 5)),
    Layer("MaxPool2d", lambda t: t.nn.MaxPool2d(2, stride=1, padding=1), randn(2, 2, 4, 4)),
    Layer("MaxPool2d_ceil", lambda t: t.nn.MaxPool2d(3, 2, ceil_mode=True), randn(1, 2, 6, 6)),
    Layer("AvgPool1d", lambda t: t.nn.AvgPool1d(2), randn(2, 2, 5)),
    Layer("AvgPool2d", lambda t: t.nn.AvgPool2d(2, 1, 1, count_include_pad=False), randn(1, 2, 4, 4)),
    Layer("LPPool2d", lambda t: t.nn.LPPool2d(2, 2), lambda t: (t.rand(1, 2, 4, 4),)),
    Layer("AdaptiveAvgPool2d", lambda t: t.nn.AdaptiveAvgPool2d((2, None)), randn(1, 2, 5, 3)),
    Layer("AdaptiveMaxPool1d", lambda t: t.nn.AdaptiveMaxPool1d(2), randn(1, 2, 5)),
    Layer("ZeroPad2d", lambda t: t.nn.ZeroPad2d((1, 0, 2, 1)), randn(1, 1, 2, 2)),
    Layer("ConstantPad1d", lambda t: t.nn.ConstantPad1d(2, 3.5), randn(1, 1, 3)),
    Layer("ReflectionPad1d", lambda t: t.nn.ReflectionPad1d(2), randn(1, 1, 4)),
    Layer("ReplicationPad2d", lambda t: t.nn.ReplicationPad2d(1), randn(1, 1, 2, 2)),
    Layer("CircularPad1d", lambda t: t.nn.CircularPad1d((1, 2)), randn(1, 1, 3)),
    Layer("BatchNorm1d", lambda t: t.nn.BatchNorm1d(3), randn(4, 3)),
    Layer("BatchNorm2d", lambda t: t.nn.BatchNorm2d(2, momentum=None), randn(2, 2, 3, 3)),
    Layer("BatchNorm2d_eval", lambda t: t.nn.BatchNorm2d(2).eval(), randn(2, 2, 3, 3)),
    Layer("BatchNorm1d_plain", lambda t: t.nn.BatchNorm1d(3, affine=False, track_running_stats=False), randn(4, 3)),
    Layer("InstanceNorm1d", lambda t: t.nn.InstanceNorm1d(2, affine=True), randn(2, 2, 4)),
    Layer("LayerNorm", lambda t: t.nn.LayerNorm((2, 3)), randn(4, 2, 3)),
    Layer("LayerNorm_no_bias", lambda t: t.nn.LayerNorm(3, bias=False), randn(4, 3)),
    Layer("GroupNorm", lambda t: t.nn.GroupNorm(2, 4), randn(2, 4, 3)),
    Layer("RMSNorm", lambda t: t.nn.RMSNorm(3), randn(4, 3)),
    Layer("LocalResponseNorm", lambda t: t.nn.LocalResponseNorm(2), randn(1, 3, 2, 2)),
    Layer("Embedding", lambda t: t.nn.Embedding(5, 3, padding_idx=1), lambda t: (t.tensor([[0, 1], [4, 0]]),)),
    Layer("CrossEntropyLoss", lambda t: t.nn.CrossEntropyLoss(), classes(4, 3)),
    Layer("CrossEntropyLoss_weight", lambda t: t.nn.CrossEntropyLoss(t.tensor([0.5, 1.0, 2.0])), classes(4, 3, 2)),
    Layer("CrossEntropyLoss_smooth", lambda t: t.nn.CrossEntropyLoss(label_smoothing=0.2, ignore_index=1), classes(5, 3)),
    Layer("NLLLoss", lambda t: t.nn.NLLLoss(reduction="sum"), classes(4, 3)),
    Layer("MSELoss", lambda t: t.nn.MSELoss(), pair(2, 3)),
    Layer("L1Loss", lambda t: t.nn.L1Loss(reduction="none"), pair(2, 3)),
    Layer("SmoothL1Loss", lambda t: t.nn.SmoothL1Loss(beta=0.5), pair(2, 3)),
    Layer("HuberLoss", lambda t: t.nn.HuberLoss(delta=0.5), pair(2, 3)),
    Layer("BCELoss", lambda t: t.nn.BCELoss(), probabilities(2, 3)),
    Layer("BCEWithLogitsLoss", lambda t: t.nn.BCEWithLogitsLoss(pos_weight=t.tensor([2.0])), probabilities(2, 3)),
    Layer("KLDivLoss", lambda t: t.nn.KLDivLoss(reduction="batchmean"), probabilities(2, 3)),
    Layer("PoissonNLLLoss", lambda t: t.nn.PoissonNLLLoss(), probabilities(2, 3)),
    Layer("SoftMarginLoss", lambda t: t.nn.SoftMarginLoss(), pair(2, 3)),
    Layer("HingeEmbeddingLoss", lambda t: t.nn.HingeEmbeddingLoss(0.5), lambda t: (t.randn(3), t.tensor([1.0, -1, 1]))),
    Layer("MarginRankingLoss", lambda t: t.nn.MarginRankingLoss(0.1), lambda t: (t.randn(3), t.randn(3), t.tensor([1.0, -1, 1]))),
    Layer("Sequential", lambda t: t.nn.Sequential(t.nn.Linear(3, 4), t.nn.ReLU(), t.nn.Linear(4, 2)), randn(2, 3)),
    Layer("Dropout1d", lambda t: t.nn.Dropout1d(0.5), randn(2, 4, 2)),
    Layer("Dropout3d", lambda t: t.nn.Dropout3d(0.5), randn(2, 4, 2, 2, 2)),
    Layer("FeatureAlphaDropout", lambda t: t.nn.FeatureAlphaDropout(0.5), randn(2, 4, 2, 2)),
    Layer("ConvTranspose3d", lambda t: t.nn.ConvTranspose3d(2, 1, 2), randn(1, 2, 2, 2, 2)),
    Layer("MaxPool3d", lambda t: t.nn.MaxPool3d(2), randn(1, 2, 4, 4, 4)),
    Layer("AvgPool3d", lambda t: t.nn.AvgPool3d(2), randn(1, 2, 4, 4, 4)),
    Layer("LPPool1d", lambda t: t.nn.LPPool1d(3, 2), lambda t: (t.rand(1, 2, 6),)),
    Layer("LPPool3d", lambda t: t.nn.LPPool3d(2, 2), lambda t: (t.rand(1, 1, 4, 4, 4),)),
    Layer("AdaptiveAvgPool3d", lambda t: t.nn.AdaptiveAvgPool3d((2, 1, None)), randn(1, 2, 3, 3, 2)),
    Layer("AdaptiveMaxPool3d", lambda t: t.nn.AdaptiveMaxPool3d(2), randn(1, 1, 3, 4, 5)),
    Layer("FractionalMaxPool2d", lambda t: t.nn.FractionalMaxPool2d(2, output_size=(3, 2)), randn(2, 3, 6, 5)),
    Layer("FractionalMaxPool2d_ratio", lambda t: t.nn.FractionalMaxPool2d((2, 3), output_ratio=0.5), randn(1, 2, 7, 8)),
    Layer("FractionalMaxPool3d", lambda t: t.nn.FractionalMaxPool3d(2, output_size=2), randn(1, 2, 5, 4, 6)),
    Layer("MaxUnpool1d", lambda t: t.nn.MaxUnpool1d(2), lambda t: (t.randn(1, 1, 2), t.tensor([[[1, 2]]]))),
    Layer("MaxUnpool2d", lambda t: t.nn.MaxUnpool2d(2), lambda t: (t.randn(1, 1, 1, 2), t.tensor([[[[5, 2]]]]))),
    Layer("MaxUnpool3d", lambda t: t.nn.MaxUnpool3d(2, 1), lambda t: (t.randn(1, 1, 1, 1, 2), t.tensor([[[[[5, 11]]]]]))),
    Layer("ZeroPad1d", lambda t: t.nn.ZeroPad1d(2), randn(1, 1, 3)),
    Layer("CircularPad3d", lambda t: t.nn.CircularPad3d(1), randn(1, 1, 2, 2, 2)),
    Layer("ReflectionPad3d", lambda t: t.nn.ReflectionPad3d(1), randn(1, 1, 2, 3, 2)),
    Layer("InstanceNorm3d", lambda t: t.nn.InstanceNorm3d(2, track_running_stats=True), randn(2, 2, 2, 2, 2)),
    Layer("SyncBatchNorm", lambda t: t.nn.SyncBatchNorm(3), randn(4, 3, 2)),
    Layer("CrossMapLRN2d", lambda t: t.nn.CrossMapLRN2d(4, 0.1), randn(1, 5, 2, 2)),
    Layer("Upsample", lambda t: t.nn.Upsample(scale_factor=2), randn(1, 2, 3)),
    Layer("Upsample_linear", lambda t: t.nn.Upsample(size=7, mode="linear"), randn(1, 2, 3)),
    Layer("Upsample_bicubic", lambda t: t.nn.Upsample(scale_factor=(1.7, 0.6), mode="bicubic"), randn(1, 2, 4, 5)),
    Layer("Upsample_trilinear", lambda t: t.nn.Upsample(scale_factor=1.5, mode="trilinear"), randn(1, 1, 2, 3, 4)),
    Layer("UpsamplingNearest2d", lambda t: t.nn.UpsamplingNearest2d(size=(5, 3)), randn(1, 2, 4, 5)),
    Layer("UpsamplingBilinear2d", lambda t: t.nn.UpsamplingBilinear2d(scale_factor=2), randn(1, 2, 3, 2)),
    Layer("PixelShuffle", lambda t: t.nn.PixelShuffle(2), randn(1, 8, 2, 3)),
    Layer("PixelUnshuffle", lambda t: t.nn.PixelUnshuffle(2), randn(1, 2, 4, 6)),
    Layer("ChannelShuffle", lambda t: t.nn.ChannelShuffle(2), randn(1, 6, 2)),
    Layer("Fold", lambda t: t.nn.Fold((4, 5), 2), randn(1, 8, 12)),
    Layer("Unfold", lambda t: t.nn.Unfold((2, 3), dilation=(1, 2), padding=1, stride=2), randn(1, 2, 5, 6)),
    Layer("CosineSimilarity", lambda t: t.nn.CosineSimilarity(), pair(3, 4)),
    Layer("PairwiseDistance", lambda t: t.nn.PairwiseDistance(3, keepdim=True), pair(3, 4)),
    Layer("EmbeddingBag", lambda t: t.nn.EmbeddingBag(5, 3, padding_idx=1), lambda t: (t.tensor([[0, 1], [4, 0]]),)),
    Layer("EmbeddingBag_max", lambda t: t.nn.EmbeddingBag(5, 3, mode="max"),
          lambda t: (t.tensor([0, 1, 4, 0]), t.tensor([0, 0, 3]))),
    Layer("EmbeddingBag_sum", lambda t: t.nn.EmbeddingBag(5, 3, mode="sum", include_last_offset=True),
          lambda t: (t.tensor([0, 1, 4, 0]), t.tensor([0, 1, 4]), t.tensor([0.5, 1, 2, 3]))),
    Layer("GaussianNLLLoss", lambda t: t.nn.GaussianNLLLoss(full=True), lambda t: (t.randn(2, 3), t.randn(2, 3), t.rand(2, 1))),
    Layer("CosineEmbeddingLoss", lambda t: t.nn.CosineEmbeddingLoss(0.2),
          lambda t: (t.randn(3, 4), t.randn(3, 4), t.tensor([1, -1, 1]))),
    Layer("MultiLabelMarginLoss", lambda t: t.nn.MultiLabelMarginLoss(),
          lambda t: (t.randn(2, 4), t.tensor([[3, 0, -1, 1], [2, -1, 0, 0]]))),
    Layer("MultiLabelSoftMarginLoss", lambda t: t.nn.MultiLabelSoftMarginLoss(), probabilities(2, 3)),
    Layer("MultiMarginLoss", lambda t: t.nn.MultiMarginLoss(2, 0.5), classes(4, 3)),
    Layer("TripletMarginLoss", lambda t: t.nn.TripletMarginLoss(swap=True), triple(3, 4)),
    Layer("TripletMarginWithDistanceLoss", lambda t: t.nn.TripletMarginWithDistanceLoss(margin=2.0), triple(3, 4)),
    Layer("CTCLoss", lambda t: t.nn.CTCLoss(), lambda t: (
        t.randn(6, 2, 4).log_softmax(2).detach(), t.tensor([[1, 2, 2], [3, 1, 0]]), t.tensor([6, 5]), t.tensor([3, 2]))),
    Layer("CTCLoss_sum", lambda t: t.nn.CTCLoss(3, "sum", zero_infinity=True), lambda t: (
        t.randn(4, 2, 4).log_softmax(2).detach(), t.tensor([1, 2, 2, 0, 0, 0]), (4, 4), (3, 3))),
    Layer("LinearCrossEntropyLoss", lambda t: t.nn.LinearCrossEntropyLoss(3, 4, out_features=(2,), bias=True),
          lambda t: (t.randn(2, 3), t.randint(0, 4, (2, 2)))),
    Layer("LinearCrossEntropyLoss_chunks", lambda t: t.nn.LinearCrossEntropyLoss(
        3, 4, options=t.nn.LinearCrossEntropyOptions(batch_chunk_size=2, acc_policy="accurate")),
          lambda t: (t.randn(5, 3), t.randint(0, 4, (5,)))),
]  # fmt: skip

# An activation without a row gets one here, because it can be constructed without arguments.
_NAMED = {row.name for row in LAYERS}
LAYERS += [
    Layer(name, lambda t, name=name: getattr(t.nn, name)(), randn(2, 3))
    for name in activation.__all__
    if name not in _NAMED and name in pytorch_names()["torch.nn"]
]


def run(torch: Any, row: Layer, numpy: Callable[[Any], Any]) -> dict[str, Any]:
    """Returns a layer's first state, its result, all gradients, and its state after the call, as arrays by name."""
    torch.manual_seed(SEED)
    module = row.make(torch)
    found = {f"start.{name}": numpy(tensor) for name, tensor in module.state_dict().items()}
    inputs = row.inputs(torch)
    if inputs[0].is_floating_point():
        inputs[0].requires_grad_()
    result = module(*inputs)
    found["result"] = numpy(result.detach())
    if result.requires_grad:
        # With equal weights the gradient of a normalisation would be 0 and show nothing.
        weights = torch.arange(1.0, result.numel() + 1).reshape(result.shape)
        (result * weights).sum().backward()
        leaves = {"input": inputs[0]} | dict(module.named_parameters())
        found |= {f"grad.{name}": numpy(x.grad) for name, x in leaves.items() if x.grad is not None}
    found |= {f"end.{name}": numpy(tensor) for name, tensor in module.state_dict().items()}
    return found
