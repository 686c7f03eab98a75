"""What tensors, modules, optimizers and results print."""

import torch, torch.nn as nn

torch.manual_seed(0)


def show(*a):
    print(*a)


show(torch.tensor(3))
show(torch.tensor(3.0))
show(torch.tensor([]))
show(torch.empty(0, 3))
show(torch.tensor([1e-8, 1.0]))
show(torch.tensor([1e10, 1.0]))
show(torch.tensor([123456.0, 1e-3]))
show(torch.tensor([float("nan"), float("inf"), -float("inf"), 1.0]))
show(torch.tensor([True, False]))
show(torch.tensor([1 + 2j, 3.5 - 1j]))
show(torch.tensor(1j))
show(torch.tensor([1, 100, -3], dtype=torch.int8))
show(torch.zeros(3, 2, dtype=torch.float16))
show(torch.ones(2, dtype=torch.bfloat16))
show(torch.arange(2000))
show(torch.arange(2000.0).reshape(40, 50))
show(torch.randn(12, 12, 12)[::6])
show(torch.randn(3, requires_grad=True))
show(torch.randn(3, requires_grad=True) * 2)
show(torch.rand(2, 2, dtype=torch.double))
show([torch.tensor([1, 2]), torch.tensor(2.0)])
show({"a": torch.ones(1)})
show((torch.tensor(1.5),))
print(
    f"{torch.tensor(3.14159):.2f} {torch.tensor(5):d} {torch.tensor(5):>5} {torch.tensor(True)} {torch.tensor([1.5])}"
)
print("%.3f %d %s" % (torch.tensor(1.23456), torch.tensor(7.9), torch.tensor(2)))
try:
    print(f"{torch.tensor([1.0, 2.0]):.2f}")
except Exception as e:
    print(type(e).__name__, e)
torch.set_printoptions(precision=2)
show(torch.randn(4))
torch.set_printoptions(precision=6, linewidth=40)
show(torch.randn(12))
torch.set_printoptions(sci_mode=True)
show(torch.randn(3))
torch.set_printoptions(sci_mode=False)
show(torch.tensor([1e-9, 1e5]))
torch.set_printoptions(profile="short")
show(torch.randn(5) * 1000)
torch.set_printoptions(profile="full")
show(torch.arange(1100).sum(), torch.arange(30.0))
torch.set_printoptions(threshold=5, edgeitems=2)
show(torch.arange(20))
show(torch.randn(6, 6))
torch.set_printoptions(profile="default")
show(
    torch.Size([1, 2]),
    torch.float32,
    torch.device("cpu"),
    torch.device("cuda:1"),
    torch.strided,
    torch.channels_last,
    torch.Generator(),
)
print(repr(torch.Size([2])), str(torch.int64), repr(torch.device("cpu")), torch.device("cuda", 0).index)
show(torch.finfo(torch.float32))
show(torch.iinfo(torch.int8))
show(
    torch.finfo(torch.bfloat16).eps,
    torch.finfo(torch.float16).smallest_normal,
    torch.finfo(torch.float64).resolution,
    torch.iinfo(torch.uint8).bits,
)
show(torch.sort(torch.tensor([3, 1, 2])))
show(torch.max(torch.randn(2, 3), dim=1))
show(torch.linalg.qr(torch.eye(2)))
show(torch.svd(torch.eye(2)))
show(torch.topk(torch.arange(5.0), 2))
show(torch.mode(torch.tensor([1, 1, 2])))
show(torch.linalg.slogdet(torch.eye(2) * 3))
show(torch.aminmax(torch.arange(3)))
show(nn.Parameter(torch.ones(2)))
show(nn.ParameterList([torch.ones(2), nn.Parameter(torch.zeros(1, 3))]))
show(nn.ParameterDict({"a": torch.ones(2), "b": nn.Parameter(torch.zeros(3))}))
show(nn.ModuleDict({"x": nn.ReLU(), "y": nn.Linear(1, 2)}))
show(nn.ModuleList([nn.Linear(2, 2) for _ in range(4)]))
show(nn.Buffer(torch.ones(2)))
for m in (
    nn.Conv1d(2, 4, 3, stride=2, padding="valid", dilation=2, groups=2, bias=False, padding_mode="circular"),
    nn.Conv2d(1, 2, (3, 5), padding=(1, 2)),
    nn.ConvTranspose3d(1, 2, 3, output_padding=1, stride=2),
    nn.LSTM(3, 4, 2, bidirectional=True, dropout=0.1, proj_size=2),
    nn.GRUCell(2, 3, bias=False),
    nn.RNN(2, 3, nonlinearity="relu"),
    nn.Embedding(5, 3, padding_idx=1, max_norm=1.0),
    nn.EmbeddingBag(4, 2, mode="max"),
    nn.BatchNorm2d(4, track_running_stats=False),
    nn.LayerNorm((2, 3), elementwise_affine=False),
    nn.GroupNorm(2, 4),
    nn.InstanceNorm1d(3),
    nn.LocalResponseNorm(2),
    nn.RMSNorm(4),
    nn.CrossEntropyLoss(weight=torch.ones(2), label_smoothing=0.1),
    nn.MaxPool2d(2, return_indices=True, ceil_mode=True),
    nn.AdaptiveAvgPool2d((None, 3)),
    nn.LPPool1d(2, 3),
    nn.FractionalMaxPool2d(2, output_ratio=0.5),
    nn.Dropout2d(0.3, True),
    nn.Softmax(dim=-1),
    nn.LogSoftmax(1),
    nn.Hardtanh(-2, 2),
    nn.PReLU(3),
    nn.Threshold(0.1, 20),
    nn.CELU(1.5),
    nn.Softplus(beta=2),
    nn.GLU(),
    nn.MultiheadAttention(4, 2),
    nn.Bilinear(2, 3, 4),
    nn.Flatten(0),
    nn.Unflatten(1, (2, 3)),
    nn.PixelShuffle(3),
    nn.Upsample(size=(3, 3)),
    nn.UpsamplingBilinear2d(scale_factor=2),
    nn.ZeroPad2d(1),
    nn.ReflectionPad1d((1, 2)),
    nn.ConstantPad3d(1, 2.5),
    nn.CosineSimilarity(dim=2),
    nn.PairwiseDistance(3),
    nn.TripletMarginWithDistanceLoss(),
    nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3, 6]),
    nn.LazyLinear(3),
    nn.Fold(4, 2),
    nn.Unfold(2, stride=2),
    nn.ChannelShuffle(2),
    nn.Identity(54, x=1),
    nn.HuberLoss(delta=2),
    nn.CTCLoss(zero_infinity=True),
    nn.KLDivLoss("batchmean", log_target=True),
    nn.Softmin(),
    nn.Tanhshrink(),
    nn.RReLU(),
    nn.SyncBatchNorm(3),
    nn.Transformer(4, 2, 1, 1, 8).encoder,
):
    print(m)
import torch.optim as O

p = [nn.Parameter(torch.ones(2))]
for c in (
    O.SGD,
    O.Adam,
    O.AdamW,
    O.RMSprop,
    O.Adagrad,
    O.Adadelta,
    O.NAdam,
    O.RAdam,
    O.Rprop,
    O.ASGD,
    O.LBFGS,
    O.Adamax,
    O.Adafactor,
):
    print(c(p, lr=0.1))
o = O.SGD([{"params": p, "name": "x"}, {"params": [torch.ones(1, requires_grad=True)], "lr": 3}], lr=0.1, momentum=0.9)
print(o, o.state_dict())
s = O.lr_scheduler.StepLR(o, 2)
print(s.state_dict())
print(torch.ones(2).storage())
print(torch.ones(2, dtype=torch.int16).untyped_storage())
print(torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 3)))
print(torch.eye(2).to_sparse_csr())
print(torch.quantize_per_tensor(torch.tensor([1.0, 2.0]), 0.1, 3, torch.qint8))
print(torch.zeros(2, device="meta"))
print(torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]))
print(
    torch.ones(2).type(),
    torch.ones(2).long().type(),
    torch.tensor([1.0]).__class__,
    torch.typename(torch.ones(1)),
    torch.typename(nn.Linear(1, 1)),
)
print(
    torch.ones(1, requires_grad=True).exp().grad_fn,
    torch.ones(1, requires_grad=True).view(1).sum().grad_fn.next_functions,
)
print(torch.utils.data.TensorDataset(torch.ones(2)).__class__, len(torch.utils.data.TensorDataset(torch.ones(2))))
print(torch.autograd.Function, nn.Module, torch.Tensor, torch.optim.Adam)
print(torch.rand(3).t, torch.add, torch.nn.functional.relu) if False else None
