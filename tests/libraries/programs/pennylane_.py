"""PennyLane: circuits whose parameters are tensors, alone and as a layer of a network."""

import pennylane as qml
import torch

torch.manual_seed(0)
device = qml.device("default.qubit", wires=2)


@qml.qnode(device, interface="torch", diff_method="backprop")
def circuit(angles, weights):
    qml.AngleEmbedding(angles, wires=[0, 1])
    qml.BasicEntanglerLayers(weights, wires=[0, 1])
    return [qml.expval(qml.PauliZ(wire)) for wire in range(2)]


weights = torch.randn(3, 2, requires_grad=True)
values = torch.stack(circuit(torch.tensor([0.3, -0.5]), weights))
values.sum().backward()
print([f"{v:.5f}" for v in values.tolist()], [f"{v:.5f}" for v in weights.grad.flatten().tolist()])


@qml.qnode(device, interface="torch", diff_method="parameter-shift")
def shifted(x):
    qml.RX(x[0], wires=0)
    qml.RY(x[1], wires=1)
    qml.CNOT(wires=[0, 1])
    return qml.expval(qml.PauliZ(0) @ qml.PauliX(1)), qml.probs(wires=[0])


x = torch.tensor([0.4, 0.9], dtype=torch.float64, requires_grad=True)
expectation, chances = shifted(x)
(expectation + chances[0]).backward()
print(f"{expectation.item():.5f}", [f"{v:.5f}" for v in chances.tolist()], [f"{v:.5f}" for v in x.grad.tolist()])
layer = qml.qnn.TorchLayer(
    qml.QNode(lambda inputs, w: circuit.func(inputs, w), device, interface="torch", diff_method="backprop"),
    {"w": (2, 2)},
)
model = torch.nn.Sequential(torch.nn.Linear(3, 2), layer, torch.nn.Linear(2, 1))
optimizer = torch.optim.Adam(model.parameters(), 0.1)
data = torch.randn(8, 3)
for _ in range(4):
    loss = (model(data) - data.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
