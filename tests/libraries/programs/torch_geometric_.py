"""torch_geometric: graph convolutions, attention and batches of graphs."""

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_mean_pool

torch.manual_seed(0)
edges = torch.tensor([[0, 1, 1, 2, 3, 4, 0, 3], [1, 0, 2, 1, 4, 3, 3, 0]])
graph = Data(x=torch.randn(5, 4), edge_index=edges, y=torch.tensor([0, 1, 0, 1, 1]))
print(graph, graph.num_nodes, graph.is_undirected())


class Net(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.first, self.second = layer(4, 8), layer(8, 2)

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu(), edge_index)


gin = lambda a, b: GINConv(torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.ReLU(), torch.nn.Linear(b, b)))
for layer in (GCNConv, SAGEConv, GATConv, gin):
    torch.manual_seed(1)
    model = Net(layer)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(graph.x, graph.edge_index), graph.y)
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.5f}", end=" ")
    print()
batch = Batch.from_data_list(
    [graph, Data(x=torch.ones(2, 4), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0, 0]))]
)
print(batch.num_graphs, f"{global_mean_pool(batch.x, batch.batch).sum().item():.4f}")
