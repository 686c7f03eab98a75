"""Export of modules, and a few eigenvalues of large matrices."""

import torch
from torch import nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 4)
        self.register_buffer("b", torch.ones(4))
        self.o = nn.Linear(4, 2, bias=False)

    def forward(self, x, y=None, *, scale=2.0):
        h = torch.relu(self.l(x)) + self.b
        if y is not None:
            h = h * y
        return {"out": self.o(h) * scale, "h": h}


torch.manual_seed(0)
m = M().eval()
x = torch.randn(5, 3)
ep = torch.export.export(m, (x,))
print(type(ep).__name__, isinstance(ep, torch.export.ExportedProgram))
for n in ep.graph.nodes:
    print(n.op, n.name, n.target if n.op != "call_function" else str(n.target))
s = ep.graph_signature
print(s.parameters, s.buffers, s.user_inputs, s.inputs_to_parameters, s.inputs_to_buffers, len(s.user_outputs))
print([(i.kind.name, i.arg.name, i.target) for i in s.input_specs])
print(sorted(ep.state_dict))
g = ep.module()
r = g(x)
w = m(x)
print(sorted(r), torch.equal(r["out"], w["out"]), [n for n, _ in g.named_parameters()])
print([n for n, _ in ep.named_parameters()], [n for n, _ in ep.named_buffers()])
try:
    g(torch.randn(6, 3))
except Exception as e:
    print(type(e).__name__)
ep = torch.export.export(
    nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2)), (torch.randn(1, 1, 4, 4),)
)
print([str(n.target) for n in ep.graph.nodes if n.op == "call_function"], ep.example_inputs[0][0].shape)
try:
    print(torch.lobpcg(torch.eye(4), k=2))
except Exception as e:
    print(type(e).__name__, e)
A = torch.diag(torch.arange(1.0, 13.0))
e, v = torch.lobpcg(A, k=2, largest=False)
print(e.shape, v.shape, [round(t, 3) for t in e.tolist()], (A @ v - v * e).abs().max() < 1e-2)
B = torch.eye(12) * 2
e, v = torch.lobpcg(A, k=3, B=B)
print([round(t, 3) for t in e.tolist()], (v.mT @ B @ v - torch.eye(3)).abs().max() < 1e-3)
try:
    torch.lobpcg(torch.ones(12, 11))
except Exception as e:
    print(type(e).__name__)
