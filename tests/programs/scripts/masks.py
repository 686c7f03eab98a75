"""Nested and masked tensors."""

import torch, torch.nn as nn, torch.nn.functional as F, warnings
from torch.masked import masked_tensor

warnings.simplefilter("ignore")
torch.manual_seed(0)
a, b = torch.arange(3.0).view(1, 3), torch.arange(6.0).view(2, 3)
nt = torch.nested.nested_tensor([a, b])
print(nt, nt.is_nested, nt.size(0), nt.dim(), nt.numel(), nt.layout, nt.unbind()[1])
print(
    torch.nested.to_padded_tensor(nt, -1.0),
    nt.to_padded_tensor(0.0, (2, 3, 3)).shape,
    (nt * 2).unbind()[0],
    (nt + nt).unbind()[1],
    F.relu(nt).unbind()[0],
    nn.Linear(3, 2)(nt).unbind()[1].shape,
    F.softmax(nt, -1).unbind()[0],
    torch.nested.as_nested_tensor([a, b]).size(2),
    nt.transpose(1, 2).unbind()[1].shape,
)
j = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
print(
    j.is_nested,
    j.offsets(),
    j.values().shape,
    j.layout,
    (j * 3).values().sum(),
    torch.nested.nested_tensor_from_jagged(torch.arange(6.0), torch.tensor([0, 2, 6])).unbind(),
)
for f in (
    lambda: nt.size(1),
    lambda: torch.nested.nested_tensor([1, 2]),
    lambda: nt.shape,
    lambda: nt + torch.ones(2),
    lambda: nt.numpy(),
    lambda: nt.view(3),
):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e)[:150])
d = torch.tensor([[-3.0, -2, -1], [0, 1, 2]])
m = torch.tensor([[True, False, True], [False, True, False]])
mt = masked_tensor(d, m)
print(
    mt,
    mt.get_mask(),
    mt.get_data(),
    mt.sum(),
    mt.mean(1),
    mt.amax(0),
    mt + mt,
    mt.sin(),
    mt.to_tensor(9.0),
    mt.shape,
    mt.prod(1),
    torch.masked.sum(d, 1, mask=m),
    torch.masked.softmax(d, 1, mask=m),
    torch.masked.mean(d, mask=m),
    torch.masked.amin(d, 0, mask=m),
    torch.masked.std(d, 1, mask=m),
    torch.masked.normalize(d, 2, 1, mask=m),
    torch.masked.norm(d, 2, mask=m),
    torch.masked.argmax(d, 1, mask=m),
    torch.masked.cumsum(d, 1, mask=m),
    torch.masked.log_softmax(d, 1, mask=m),
    torch.masked.median(d, 1, mask=m),
    torch.masked.logsumexp(d, 1, mask=m),
    torch.masked.var(d, mask=m),
    torch.masked.prod(d, mask=m),
)
