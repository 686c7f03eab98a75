"""A convolutional network over a DataLoader with workers, shuffled and split at random."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split


class Bars(Dataset):
    """Pictures with a horizontal or a vertical bar."""

    def __init__(self, count):
        self.labels = torch.arange(count) % 2
        self.pictures = 0.3 * torch.randn(count, 1, 8, 8)
        for i, label in enumerate(self.labels):
            at = int(torch.randint(8, (1,)))
            self.pictures[(i, 0, at) if label else (i, 0, slice(None), at)] += 1.0

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.pictures[index], self.labels[index]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.drop = nn.Conv2d(8, 8, 3), nn.Dropout(0.1)
        self.head = nn.Linear(8 * 3 * 3, 2)

    def forward(self, x):
        x = F.relu(self.bn(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.head(self.drop(x.flatten(1)))


if __name__ == "__main__":
    torch.manual_seed(0)
    train, test = random_split(Bars(160), [128, 32])
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    for epoch in range(3):
        net.train()
        total = 0.0
        for pictures, labels in DataLoader(train, batch_size=32, shuffle=True, num_workers=2):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(pictures), labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
        net.eval()
        with torch.no_grad():
            right = sum((net(a).argmax(1) == b).sum().item() for a, b in DataLoader(test, batch_size=16))
        print(f"epoch {epoch}: loss {total / len(train):.5f}, right {right} of {len(test)}")
    print(net.bn.running_mean[:3])
