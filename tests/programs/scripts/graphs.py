"""Numbers on graphs and point clouds: sparse neighbours, message passing, clusters, spectra, diffusion of noise."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
COUNT = 40
centers = torch.tensor([[0.0, 0.0], [4.0, 0.0], [2.0, 3.5]])
label = torch.arange(COUNT) % 3
points = centers[label] + 0.6 * torch.randn(COUNT, 2)

# neighbours, as a sparse matrix
distance = torch.cdist(points, points)
near = distance.masked_fill(torch.eye(COUNT, dtype=torch.bool), float("inf")).topk(4, largest=False).indices
sender, receiver = near.flatten(), torch.arange(COUNT).repeat_interleave(4)
edges = torch.cat([torch.stack([receiver, sender]), torch.stack([sender, receiver])], 1)
adjacency = torch.sparse_coo_tensor(edges, torch.ones(edges.size(1)), (COUNT, COUNT)).coalesce()
print(adjacency.is_sparse, adjacency.indices().shape[1], adjacency.values().max().item())
dense = adjacency.to_dense().clamp(max=1)
degree = torch.zeros(COUNT).index_add_(0, adjacency.indices()[0], torch.ones(adjacency.indices().size(1)))
print(torch.equal(degree, dense.sum(1)), degree.long().bincount().tolist())

# a spectrum
laplacian = torch.diag(degree) - dense
values = torch.linalg.eigvalsh(laplacian)
print("components", int((values < 1e-4).sum()), f"{values[-1]:.3f} {torch.trace(laplacian).item():.0f}")


class Layer(nn.Module):
    """Averages the features of neighbours."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.own, self.others = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs, bias=False)

    def forward(self, x, edges):
        said = self.others(x).index_select(0, edges[1])
        total = torch.zeros(x.size(0), said.size(1)).scatter_add_(0, edges[0][:, None].expand_as(said), said)
        return self.own(x) + total / degree.unsqueeze(1)


first, second = Layer(2, 16), Layer(16, 3)
optimizer = torch.optim.RMSprop([*first.parameters(), *second.parameters()], lr=0.01)
known = torch.zeros(COUNT, dtype=torch.bool)
known[:9] = True
for step in range(30):
    out = second(F.dropout(F.relu(first(points, adjacency.indices())), 0.2), adjacency.indices())
    loss = F.cross_entropy(out[known], label[known])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"{step}: {loss.item():.3f}")
with torch.no_grad():
    out = second(F.relu(first(points, adjacency.indices())), adjacency.indices())
print("right", (out.argmax(1) == label).sum().item())

# clusters
means = points[:3].clone()
for _ in range(5):
    owner = torch.cdist(points, means).argmin(1)
    for k in owner.unique().tolist():
        means[k] = points[owner == k].mean(0)
print(means.sort(0).values, owner.unique(return_counts=True)[1].tolist())

# diffusion: noise is added by a schedule, and a small network predicts it
betas = torch.linspace(1e-3, 0.2, 20)
kept = torch.cumprod(1 - betas, 0)
network = nn.Sequential(nn.Linear(3, 32), nn.Softplus(), nn.Linear(32, 2))
optimizer = torch.optim.Adamax(network.parameters(), lr=0.02)
for step in range(60):
    time = torch.randint(0, 20, (COUNT,))
    noise = torch.randn_like(points)
    mixed = kept[time, None].sqrt() * points + (1 - kept[time, None]).rsqrt().reciprocal() * noise
    loss = F.mse_loss(network(torch.cat([mixed, time[:, None] / 20], 1)), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"{step}: {loss.item():.3f}")
x = torch.randn(5, 2)
with torch.no_grad():
    for time in reversed(range(20)):
        said = network(torch.cat([x, torch.full((5, 1), time / 20)], 1))
        x = (x - betas[time] / (1 - kept[time]).sqrt() * said) / (1 - betas[time]).sqrt()
        if time:
            x = x + betas[time].sqrt() * torch.randn_like(x)
print(tuple(x.shape), bool(x.isfinite().all()))

# signals
t = torch.arange(64) / 64
signal = torch.sin(2 * torch.pi * 5 * t) + 0.5 * torch.cos(2 * torch.pi * 12 * t)
spectrum = torch.fft.rfft(signal)
power = torch.view_as_real(spectrum).square().sum(-1)
print(power.topk(2).indices.tolist(), torch.allclose(torch.fft.irfft(spectrum, n=64), signal, atol=1e-5))
print(torch.maximum(signal, torch.zeros(())).nonzero().numel(), signal.median().sign().item(), signal.argmin().item())
