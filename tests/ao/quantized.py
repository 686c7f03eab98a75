"""Quantization: lines whose outcome is compared with PyTorch's, and the scales that observers compute from some batches."""

from __future__ import annotations

import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

# x is a batch, t is quantized with one scale, c by channel.
LINES = """
t
c
t.dtype
t.int_repr()
t.dequantize()
t.q_scale()
t.q_zero_point()
t.qscheme()
t.is_quantized
t.shape
t[0]
t.view(-1).shape
c.q_per_channel_scales()
c.q_per_channel_zero_points()
c.q_per_channel_axis()
c.qscheme()
c.int_repr()
c.dequantize()
t.q_per_channel_axis()
c.q_scale()
x.int_repr()
x.q_scale()
x.dequantize()
torch.dequantize(t)
torch.dequantize([t,t])
torch.dequantize(tensors=(t,c))
torch.dequantize(input=t)
torch.dequantize(tensors=t)
torch.dequantize(input=[t])
x.qscheme()
x.is_quantized
torch.quantize_per_tensor(x,0.1,10,torch.int8)
torch.quantize_per_tensor(x.double(),0.1,10,torch.qint8)
torch.quantize_per_tensor(x,0.1,300,torch.quint8)
torch.quantize_per_tensor(x,0.1,-300,torch.qint8)
torch.quantize_per_tensor(x,torch.tensor(.1),torch.tensor(3),torch.quint8)
t.clone()
t.detach()
t==t
torch.equal(t,t)
torch.equal(t,torch.quantize_per_tensor(x,0.2,10,torch.quint8))
t.reshape(4,5)
torch.relu(t)
t[0,0]
t[:,1]
t.max()
t.min()
t.element_size()
t.to('cpu')
t.requires_grad
t.permute(1,0)
t.transpose(0,1)
torch.quantize_per_tensor(x,0.01,0,torch.qint32)
t.type()
torch.quantize_per_tensor(tensors=[x,x],scales=torch.tensor([.1,.2]),zero_points=torch.tensor([0,1]),dtype=torch.qint8)
torch.quantize_per_tensor(x,scale=0.1,zero_point=3,dtype=torch.quint8)
torch.quantize_per_tensor([x,x],torch.tensor([.1]),torch.tensor([0,1]),torch.qint8)
torch.quantize_per_tensor([x,x],.1,3,torch.qint8)
torch.quantize_per_tensor(x,.1,3)
torch.quantize_per_tensor(x,scales=.1,dtype=torch.quint8)
torch.quantize_per_tensor([x,x],torch.tensor([.1,.2]),torch.tensor([0,1]),torch.qint8)
torch.quantize_per_tensor_dynamic(x,torch.quint8,True)
torch.quantize_per_tensor_dynamic(x,torch.qint8,False)
torch.quantize_per_tensor_dynamic(x.abs(),torch.qint8,True)
torch.quantize_per_tensor_dynamic(x*0,torch.qint8,False)
torch.quantize_per_tensor_dynamic(x*1e-5,torch.quint8,False)
torch.fake_quantize_per_tensor_affine(x,0.1,10,0,255)
torch.fake_quantize_per_tensor_affine(x,torch.tensor(0.1),torch.tensor(10),0,255)
torch.fake_quantize_per_channel_affine(x,torch.rand(4)+.01,torch.zeros(4,dtype=torch.int32),1,-128,127)
torch.fake_quantize_per_tensor_affine(x,0.1,300,0,255)
torch.fake_quantize_per_tensor_affine(x.double(),0.1,10,0,255).dtype
torch.fake_quantize_per_tensor_affine(x,0.1,10,5,1)
torch.fake_quantize_per_tensor_affine(x.requires_grad_(),0.1,10,0,15).grad_fn.name()
torch.autograd.grad(torch.fake_quantize_per_tensor_affine(x.requires_grad_(),0.1,10,0,15).sum(),x)
torch.fake_quantize_per_channel_affine(x,torch.rand(4)+.01,torch.zeros(4,dtype=torch.int32),1,-128,127).grad_fn.name()
torch.fake_quantize_per_tensor_affine(torch.tensor([float('nan'),float('inf'),-float('inf')]),.1,0,0,5)
torch.fake_quantize_per_channel_affine(x,torch.ones(4),torch.zeros(4)+.5,1,0,5)
torch.fake_quantize_per_tensor_affine(x.bfloat16(),.1,0,0,5)
torch.fake_quantize_per_tensor_affine(x.double(),.1,0,0,5)
torch.fake_quantize_per_tensor_affine(x.half(),.1,0,0,5)
torch.per_tensor_affine, type(torch.per_tensor_affine), torch.per_channel_symmetric
torch.quantize_per_tensor(torch.tensor([float('nan'),float('inf'),-float('inf'),1e20]),.1,3,torch.quint8).int_repr()
torch.quantize_per_tensor(torch.tensor([float('nan'),float('inf'),-float('inf'),1e20]),.1,3,torch.qint8).int_repr()
torch.quantize_per_channel(x,torch.rand(3),torch.zeros(3),1,torch.qint8)
torch.quantize_per_channel(x,torch.rand(4),torch.zeros(3),1,torch.qint8)
torch.quantize_per_tensor(torch.zeros(0,3),.1,3,torch.quint8)
torch.quantize_per_tensor(torch.tensor(1.26),.1,3,torch.quint8)
(t>0.5).sum()
t.squeeze().shape
t.unsqueeze(0).shape
t.t().shape
t.flatten().shape
t.contiguous().is_contiguous()
t.numel(), t.dim(), t.size(), t.stride(), len(t)
t.device
isinstance(t,torch.Tensor)
c.clone().q_per_channel_axis()
t.select(0,1)
t>t
""".strip().splitlines()

OBSERVERS = """
q.MinMaxObserver()
q.MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
q.MinMaxObserver(dtype=torch.quint8, qscheme=torch.per_tensor_symmetric)
q.MinMaxObserver(quant_min=-10, quant_max=20)
q.MinMaxObserver(dtype=torch.qint32)
q.MovingAverageMinMaxObserver()
q.PerChannelMinMaxObserver()
q.PerChannelMinMaxObserver(dtype=torch.qint8, qscheme=torch.per_channel_symmetric, ch_axis=1)
q.MovingAveragePerChannelMinMaxObserver()
q.PerChannelMinMaxObserver(qscheme=torch.per_channel_affine_float_qparams)
q.MinMaxObserver(reduce_range=True)
q.FakeQuantize()
q.default_fake_quant()
q.default_weight_fake_quant()
q.default_per_channel_weight_fake_quant()
q.default_observer()
q.default_per_channel_weight_observer()
q.HistogramObserver()
q.HistogramObserver(bins=5)
q.HistogramObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
q.default_histogram_observer()
q.default_histogram_fake_quant()
q.FixedQParamsObserver(0.25, 3)
q.default_fixed_qparams_range_neg1to1_fake_quant()
q.FusedMovingAvgObsFakeQuantize()
q.default_fused_act_fake_quant()
q.default_fused_wt_fake_quant()
q.default_fused_per_channel_wt_fake_quant()
q.fused_per_channel_wt_fake_quant_range_neg_127_to_127()
q.FusedMovingAvgObsFakeQuantize(dtype=torch.quint8, qscheme=torch.per_tensor_symmetric)
q.weight_observer_range_neg_127_to_127()
q.get_default_qconfig('x86').activation()
q.get_default_qat_qconfig('fbgemm').activation()
q.get_default_qat_qconfig('qnnpack', 0).weight()
""".strip().splitlines()

WORDS = """
q.default_dynamic_qconfig
q.default_qconfig
q.default_qat_qconfig
q.default_per_channel_qconfig
q.QConfig(q.MinMaxObserver(),1)
[q.get_default_qconfig(b) for b in ('x86', 'fbgemm', 'qnnpack', 'onednn')]
[q.get_default_qat_qconfig(b, v) for b in ('x86', 'fbgemm', 'qnnpack', 'onednn') for v in (0, 1)]
q.get_default_qconfig('abc')
q.get_default_qconfig('x86', 1)
q.get_default_qat_qconfig('x86', 2)
q.default_symmetric_qnnpack_qconfig, q.default_per_channel_symmetric_qnnpack_qat_qconfig
q.default_embedding_qat_qconfig, q.float_qparams_weight_only_qconfig
q.qconfig_equals(q.get_default_qconfig(), q.get_default_qconfig())
q.qconfig_equals(q.get_default_qconfig(), q.default_qconfig)
q.qconfig_equals(None, q.default_qconfig)
q.HistogramObserver().calculate_qparams()
q.HistogramObserver(qscheme=torch.per_channel_affine)
q.HistogramObserver(is_dynamic=True)
q.FixedQParamsFakeQuantize(q.default_observer)
q.FusedMovingAvgObsFakeQuantize(observer=q.MinMaxObserver)
q.FakeQuantize(quant_min=0, quant_max=300)
q.ReuseInputObserver().calculate_qparams()
q.MinMaxObserver.with_callable_args(dtype=lambda: torch.qint8)().dtype
q.MinMaxObserver.with_args(dtype=torch.qint8).with_callable_args()
q.get_observer_state_dict(nn.Sequential(q.FakeQuantize()))
fused(x.requires_grad_(), False).grad_fn.name()
torch.autograd.grad(fused(x.requires_grad_(), True).sum(), x)
q.MinMaxObserver(qscheme=torch.per_channel_affine)
q.MinMaxObserver(quant_min=5,quant_max=10)
q.PerChannelMinMaxObserver(qscheme=torch.per_tensor_affine)
q.PlaceholderObserver()
q.PlaceholderObserver().calculate_qparams()
q.NoopObserver()
q.MinMaxObserver.with_args(dtype=torch.qint8)
q.MinMaxObserver()(torch.zeros(0))
q.quantize_dynamic(nn.Linear(2,2),dtype=torch.float64)
q.MinMaxObserver.__module__
q.observer.MinMaxObserver is q.MinMaxObserver
""".strip().splitlines()

MODELS = ["{nn.Linear}", "None", "{'a', 'b.1'}", "{'a'}", "{nn.Linear: q.per_channel_dynamic_qconfig}"]


def names(torch: ModuleType) -> dict[str, Any]:
    torch.manual_seed(0)
    x = torch.randn(5, 4)
    scales = torch.rand(4) + 0.01
    one = torch.tensor([1])
    ranges = torch.tensor(float("inf")), torch.tensor(-float("inf")), torch.ones(1), torch.zeros(1, dtype=torch.int32)

    def fused(x: Any, symmetric: bool) -> Any:
        return torch.fused_moving_avg_obs_fake_quant(x, one, one, *ranges, 0.01, 0, 15, 0, False, symmetric)

    return {
        "fused": fused,
        "torch": torch,
        "nn": torch.nn,
        "q": import_module(f"{torch.__name__}.ao.quantization"),
        "x": x,
        "t": torch.quantize_per_tensor(x, 0.1, 10, torch.quint8),
        "c": torch.quantize_per_channel(x, scales, torch.zeros(4).long(), 1, torch.qint8),
    }


def said(torch: ModuleType, line: str) -> str:
    """Returns a line's result as text, or its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(eval(line, names(torch))).replace("torchlike", "torch")
        except Exception as error:
            return f"{type(error).__name__}: {error}".partition(" backend.")[0]


def observed(torch: ModuleType, line: str) -> list[str]:
    """Returns what an observer computes before and after each of three batches."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        observer = eval(line, names(torch))
        x = torch.tensor([[-1.0, 0.5, 2.0], [3.0, -4.0, 0.1]])
        text = [f"{observer.calculate_qparams()} {observer!r}"]
        for factor in (1.0, 2.0, -0.5):
            y = observer(x * factor)
            text.append(f"{y} {observer.calculate_qparams()} {observer!r} {list(observer.state_dict().items())}")
    return text


def quantized_model(torch: ModuleType, spec: str) -> list[str]:
    """Returns the text of a model that is quantized dynamically, and its results."""
    nn = torch.nn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        space = names(torch)
        torch.manual_seed(
            5
        )  # with this seed no activation is so near the middle of two integers that its last bit decides

        class Model(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.a = nn.Linear(12, 8)
                self.b = nn.Sequential(nn.ReLU(), nn.Linear(8, 6, bias=False))
                self.c = nn.Linear(6, 3)

            def forward(self, x: Any) -> Any:
                return self.c(torch.relu(self.b(self.a(x))))

        model = space["q"].quantize_dynamic(Model(), eval(spec, space), dtype=torch.qint8)
        inputs = [
            torch.randn(4, 12),
            torch.randn(2, 3, 12),
            torch.zeros(2, 12),
            torch.rand(2, 12) + 1,
            -torch.rand(2, 12),
        ]
        outputs = [repr(model(x).detach()) for x in inputs]
    return [repr(model), *outputs, str(list(model.state_dict())), str(model.training)]


def everything(torch: ModuleType) -> dict[str, Any]:
    return {
        "said": {line: said(torch, line) for line in [*LINES, *WORDS]},
        "observed": {line: observed(torch, line) for line in OBSERVERS},
        "models": {spec: quantized_model(torch, spec) for spec in MODELS},
    }
