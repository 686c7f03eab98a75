"""The classifier of a quickstart, which prints its log, in a namespace: PyTorch's when recorded, torchlike's when tested."""

from types import ModuleType
from typing import Any


def network(torch: ModuleType) -> Any:
    """Two hidden layers on the flattened picture."""
    nn = torch.nn

    class NeuralNetwork(nn.Module):
        def __init__(self):
            super().__init__()
            self.flatten = nn.Flatten()
            self.linear_relu_stack = nn.Sequential(
                nn.Linear(28 * 28, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
            )

        def forward(self, x):
            return self.linear_relu_stack(self.flatten(x))

    return NeuralNetwork()


def train(torch: ModuleType, loader: Any, model: Any, loss_fn: Any, optimizer: Any, device: str) -> None:
    """Trains for one epoch."""
    model.train()
    for batch, (X, y) in enumerate(loader):
        X, y = X.to(device), y.to(device)
        loss = loss_fn(model(X), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if batch % 20 == 0:
            print(f"loss: {loss.item():>7f}  [{(batch + 1) * len(X):>5d}/{len(loader.dataset):>5d}]")


def test(torch: ModuleType, loader: Any, model: Any, loss_fn: Any, device: str) -> None:
    """Prints accuracy and mean loss over the test set."""
    model.eval()
    total, correct = 0.0, 0.0
    with torch.no_grad():
        for X, y in loader:
            X, y = X.to(device), y.to(device)
            pred = model(X)
            total += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    accuracy = 100 * correct / len(loader.dataset)
    print(f"Test Error: \n Accuracy: {accuracy:>0.1f}%, Avg loss: {total / len(loader):>8f} \n")


def run(torch: ModuleType, train_set: Any, test_set: Any, loader: Any, epochs: int) -> Any:
    """Runs the whole program and returns the trained model."""
    device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    train_loader, test_loader = loader(train_set, batch_size=64), loader(test_set, batch_size=64)
    for X, y in test_loader:
        print(f"Shape of X [N, C, H, W]: {X.shape}")
        print(f"Shape of y: {y.shape} {y.dtype}")
        break
    torch.manual_seed(0)
    model = network(torch).to(device)
    print(model)
    loss_fn = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        print(f"Epoch {epoch + 1}\n-------------------------------")
        train(torch, train_loader, model, loss_fn, optimizer, device)
        test(torch, test_loader, model, loss_fn, device)
    print("Done!")
    return model
