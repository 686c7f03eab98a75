"""Blocks of lessons that print random numbers, in a namespace: recorded with PyTorch, tested with torchlike."""

from types import ModuleType
from typing import Any


def like(torch: ModuleType) -> None:
    """Makes random tensors like another tensor."""
    whole = torch.tensor([[1, 2], [3, 4]])
    print(torch.ones_like(whole))
    print(torch.rand_like(whole, dtype=torch.float))
    print(torch.full_like(whole, 3))


def by_shape(torch: ModuleType) -> None:
    """Makes random tensors from a shape, given as a tuple or as numbers."""
    shape = (2, 3)
    print(torch.rand(shape), torch.ones(shape), torch.zeros(shape))
    print(torch.rand(2, 3, 4))
    print(torch.randn(size=(2, 3)))


def joined(torch: ModuleType) -> None:
    """Concatenates random rows."""
    print(torch.cat([torch.randn(2, 5), torch.randn(3, 5)]))
    print(torch.randn(2, 3, 4).view(2, -1))


def lenet(torch: ModuleType) -> Any:
    """Prints a small convolutional network, its output, the gradients of one step, and the parameters after it."""
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5)
            self.conv2 = nn.Conv2d(6, 16, 5)
            self.fc1 = nn.Linear(16 * 5 * 5, 120)
            self.fc2 = nn.Linear(120, 84)
            self.fc3 = nn.Linear(84, 10)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            x = torch.flatten(x, 1)
            return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))

    net = Net()
    print(net)
    parameters = list(net.parameters())
    print(len(parameters), parameters[0].size())
    picture = torch.randn(1, 1, 32, 32)
    out = net(picture)
    print(out)
    net.zero_grad()
    out.backward(torch.randn(1, 10))
    target = torch.randn(10).view(1, -1)
    loss = nn.MSELoss()(net(picture), target)
    print(loss)
    print(loss.grad_fn.name(), loss.grad_fn.next_functions[0][0].name())
    net.zero_grad()
    print(net.conv1.bias.grad)
    loss.backward()
    print(net.conv1.bias.grad)
    for parameter in net.fc3.parameters():
        parameter.data.sub_(parameter.grad.data * 0.01)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    optimizer.zero_grad()
    nn.MSELoss()(net(picture), target).backward()
    optimizer.step()
    print(net.fc3.bias)


BLOCKS = {"like": like, "by_shape": by_shape, "joined": joined, "lenet": lenet}
