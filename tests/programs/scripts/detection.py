"""Boxes in pictures: anchors on a grid, overlaps, a focal loss, a feature pyramid, non-maximum suppression."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
SIZE, CELL = 32, 8


def pictures(count):
    corner = torch.randint(0, SIZE - 12, (count, 2))
    extent = torch.randint(6, 12, (count, 2))
    boxes = torch.cat([corner, corner + extent], dim=1).float()
    ys, xs = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    inside = (xs >= boxes[:, 0, None, None]) & (xs < boxes[:, 2, None, None])
    inside &= (ys >= boxes[:, 1, None, None]) & (ys < boxes[:, 3, None, None])
    kinds = torch.arange(count).remainder(2)
    shown = torch.stack([inside, inside & ((xs + ys) % 2).bool()], 1).float()
    picture = shown.gather(1, kinds.view(-1, 1, 1, 1).expand(-1, 1, SIZE, SIZE))
    return picture + 0.1 * torch.randn_like(picture), boxes, kinds


def overlaps(a, b):
    low = torch.max(a[:, None, :2], b[None, :, :2])
    high = torch.min(a[:, None, 2:], b[None, :, 2:])
    common = (high - low).clamp_(min=0).prod(-1)
    return common / (area(a)[:, None] + area(b)[None] - common)


def area(box):
    return (box[:, 2:] - box[:, :2]).prod(-1)


def focal(logits, targets, gamma=2.0):
    plain = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    p = torch.sigmoid(logits)
    right = torch.where(targets > 0.5, p, 1 - p)
    return (plain * (1 - right).pow(gamma)).sum()


def suppressed(boxes, scores, most=0.3):
    order = scores.argsort(descending=True)
    kept = []
    while order.numel():
        first, order = order[0], order[1:]
        kept.append(first.item())
        if order.numel():
            order = order[(overlaps(boxes[first][None], boxes[order])[0] <= most).nonzero().squeeze(1)]
    return kept


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.GroupNorm(2, 8), nn.SiLU())
        self.down2 = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1), nn.InstanceNorm2d(16, affine=True), nn.PReLU(16))
        self.down3 = nn.Sequential(nn.Conv2d(16, 16, 3, 2, 1), nn.LeakyReLU(0.1), nn.AvgPool2d(2))
        self.up = nn.ConvTranspose2d(16, 16, 2, stride=2)
        self.head = nn.Conv2d(32, 6, 1)
        nn.init.constant_(self.head.bias, -1.0)

    def forward(self, x):
        fine = self.down2(self.down1(x))
        coarse = self.up(self.down3(fine))
        fine = F.interpolate(fine, size=coarse.shape[-2:], mode="bilinear", align_corners=False)
        return self.head(torch.cat([fine, coarse], 1)).flatten(2).transpose(1, 2)


ys, xs = torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")
centers = torch.stack([xs, ys], -1).reshape(-1, 2) * CELL + CELL / 2
X, boxes, kinds = pictures(96)
print(X.shape, boxes[:2].tolist(), kinds[:4].tolist())
model = Detector()
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
middle = (boxes[:, :2] + boxes[:, 2:]) / 2
nearest = torch.cdist(middle, centers).argmin(1)
targets = torch.zeros(96, 16, 2)
targets[torch.arange(96), nearest, kinds] = 1.0
for epoch in range(12):
    total = 0.0
    for rows in torch.randperm(96).chunk(4):
        out = model(X.index_select(0, rows))
        places = out[torch.arange(len(rows)), nearest[rows], 2:]
        wanted = (
            torch.cat([boxes[rows, :2] - centers[nearest[rows]], boxes[rows, 2:] - centers[nearest[rows]]], 1) / CELL
        )
        loss = (focal(out[..., :2], targets[rows]) + F.smooth_l1_loss(places, wanted, reduction="sum")) / len(rows)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch}: {total / 4:.3f}")

model.eval()
with torch.no_grad():
    out = model(X[:8])
scores, kind = out[..., :2].sigmoid().max(-1)
found = torch.cat([centers, centers], 1) + out[..., 2:] * CELL
for i in range(3):
    kept = suppressed(found[i], scores[i])[:2]
    best = overlaps(found[i, kept], boxes[i][None]).max().item()
    print(len(kept) <= 2, f"{scores[i].max():.2f} {best:.1f}")
patches = X[:2].unfold(2, 8, 8).unfold(3, 8, 8)
print(tuple(patches.shape), patches.is_contiguous(), f"{patches.mean((-1, -2)).max():.4f}")
print(f"{X[0].flip(-1).roll(3, dims=-1).sum() - X[0].sum():.3f}", X.masked_select(X > 1.2).numel())
