"""tensordict: dictionaries of tensors that are indexed, stacked and passed through modules."""

import torch
from tensordict import TensorDict, tensorclass
from tensordict.nn import TensorDictModule, TensorDictSequential

torch.manual_seed(0)
data = TensorDict({"a": torch.randn(4, 3), "b": {"c": torch.arange(4)}}, batch_size=[4])
print(data[1:3]["b", "c"].tolist(), data.reshape(2, 2).batch_size, sorted(data.keys(True, True), key=str))
both = torch.stack([data, data + 1], 0)
print(both.shape, f"{both['a'].sum().item():.4f}")
network = TensorDictSequential(
    TensorDictModule(torch.nn.Linear(3, 5), in_keys=["a"], out_keys=["hidden"]),
    TensorDictModule(torch.nn.Linear(5, 2), in_keys=["hidden"], out_keys=["out"]),
)
out = network(data)
print(out["out"].shape, f"{out['out'].sum().item():.4f}")
parameters = TensorDict.from_module(network)
with parameters.apply(lambda p: p * 0).to_module(network):
    print(f"{network(data)['out'].abs().sum().item():.4f}")


@tensorclass
class Sample:
    x: torch.Tensor
    label: torch.Tensor


sample = Sample(x=torch.randn(6, 2), label=torch.arange(6), batch_size=[6])
print(sample[:2].label.tolist(), sample.split(3)[1].x.shape, type(sample.to_tensordict()).__name__)
for part in data.split(2):
    print(part["b", "c"].tolist())
