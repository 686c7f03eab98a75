"""Images that are resized keep their channels where they are in memory, and their values are those of images in the usual order."""

import pytest

import torchlike as torch
from torchlike.nn import functional as F

CASES = [
    ("nearest", 4),
    ("nearest-exact", 4),
    ("bilinear", 4),
    ("bicubic", 4),
    ("area", 4),
    ("nearest", 5),
    ("trilinear", 5),
]


@pytest.mark.parametrize(("mode", "rank"), CASES)
def test_channels_stay_last(mode, rank):
    last = torch.channels_last if rank == 4 else torch.channels_last_3d
    plain = torch.arange(2.0 * 3 * 4 * 5 * (2 if rank == 5 else 1)).reshape(2, 3, *([2] if rank == 5 else []), 4, 5)
    x = plain.contiguous(memory_format=last)
    size = (3, 6, 7)[-(rank - 2) :]
    wanted, found = F.interpolate(plain, size=size, mode=mode), F.interpolate(x, size=size, mode=mode)
    assert torch.equal(found, wanted) and wanted.is_contiguous()
    assert found.is_contiguous(memory_format=last) and not found.is_contiguous()
    assert (found + 1).equal(wanted + 1)
    found[0, 0] = 0.0  # written to as any other
    wanted[0, 0] = 0.0
    assert torch.equal(found, wanted)
    x = x.detach().requires_grad_()
    F.interpolate(x, size=size, mode=mode).square().sum().backward()
    leaf = plain.clone().requires_grad_()
    F.interpolate(leaf, size=size, mode=mode).square().sum().backward()
    assert x.grad is not None and leaf.grad is not None and torch.equal(x.grad, leaf.grad)


POOLS = {
    "max": lambda x: F.max_pool2d(x, 2, return_indices=True),
    "max of 3": lambda x: F.max_pool3d(
        torch.stack([x, x], 4).contiguous(memory_format=torch.channels_last_3d), (2, 2, 1)
    ),
    "mean": lambda x: F.avg_pool2d(x, 2),
    "adaptive mean": lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
    "adaptive max": lambda x: F.adaptive_max_pool2d(x, (2, 3), return_indices=True),
    "unpooled": lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),  # pyright: ignore[reportCallIssue]
}


@pytest.mark.parametrize("name", POOLS)
def test_channels_stay_last_where_images_are_pooled(name):
    plain = torch.rand(2, 3, 4, 6)
    results = []
    for x in (plain, plain.contiguous(memory_format=torch.channels_last)):
        found = POOLS[name](x)
        results.append(found if isinstance(found, tuple) else (found,))
    for wanted, found in zip(*results, strict=True):
        last = torch.channels_last if found.dim() == 4 else torch.channels_last_3d
        assert torch.equal(found, wanted) and found.is_contiguous(memory_format=last)
        assert found.stride()[1] == 1


@pytest.mark.parametrize(
    ("pool", "last"), [("max_pool3d", True), ("adaptive_max_pool3d", False), ("avg_pool3d", False)]
)
def test_of_one_volume_only_the_maxima_keep_channels_last(pool, last):  # as PyTorch does
    plain = torch.rand(3, 4, 4, 6)
    one = plain.permute(1, 2, 3, 0).contiguous().permute(3, 0, 1, 2)
    found, wanted = getattr(F, pool)(one, 2), getattr(F, pool)(plain, 2)
    assert torch.equal(found, wanted) and wanted.is_contiguous()
    assert found.unsqueeze(0).is_contiguous(memory_format=torch.channels_last_3d) is last
    if last:
        values, indices = F.max_pool3d(one, 2, return_indices=True)  # pyright: ignore[reportGeneralTypeIssues]
        assert values.stride() == indices.stride() == (1, 18, 9, 3)
        assert F.max_pool3d(plain[:, :2], 2).is_contiguous()


def test_what_has_its_channels_elsewhere_gives_images_in_the_usual_order():
    one = torch.ones(2, 1, 4, 5).contiguous(memory_format=torch.channels_last)
    turned = torch.ones(5, 2, 3, 4).permute(1, 2, 3, 0)
    part = torch.ones(2, 6, 4, 5).contiguous(memory_format=torch.channels_last)[:, :3]
    strides = [F.interpolate(x, size=(2, 2)).stride() for x in (one, turned, torch.ones(3, 4, 5).unsqueeze(0), part)]
    assert strides == [(4, 4, 2, 1), (12, 4, 2, 1), (12, 4, 2, 1), (12, 1, 6, 3)]


@pytest.mark.parametrize("size", [(1, 1, 2, 1), (1, 1, 1, 2), (1, 1, 1, 1)])
def test_affine_grid_warns_of_one_point_in_a_direction(size):
    theta = torch.eye(2, 3).unsqueeze(0)
    with pytest.warns(UserWarning, match="See the documentation of affine_grid for details"):
        F.affine_grid(theta, size, align_corners=True)
    assert F.affine_grid(theta, size, align_corners=False).shape == (*size[:1], *size[2:], 2)


PLAIN, LAST = (2, 3, 4, 5), torch.channels_last
BY_ELEMENT = {  # and whether the channels of the result are last, as PyTorch has it
    "a number": (lambda x, y: (x * 2 + 1).round().clip(0, 255), True),
    "a function": (lambda x, y: F.relu(x).sigmoid().exp(), True),
    "both": (lambda x, y: x + x, True),
    "a plain image after it": (lambda x, y: x + y, True),
    "a plain image before it": (lambda x, y: y + x, False),
    "one for each channel": (lambda x, y: x * torch.arange(3.0).view(3, 1, 1), True),
    "a comparison": (lambda x, y: x > 3, True),
    "a sum": (lambda x, y: x.sum(1, keepdim=True), True),
    "a window": (lambda x, y: x[:, :, 1:] * 2, True),
    "images, then transposed": (lambda x, y: x.transpose(2, 3) + 1, False),
}


@pytest.mark.parametrize("name", BY_ELEMENT)
def test_channels_stay_last_element_by_element(name):
    function, stays = BY_ELEMENT[name]
    plain = torch.arange(120.0).view(PLAIN)
    x = plain.contiguous(memory_format=LAST)
    found, wanted = function(x, plain), function(plain, plain)
    assert torch.equal(found, wanted) and found.is_contiguous(memory_format=LAST) is stays
    if found.dtype is torch.float32 and stays:
        for each in (found, wanted):  # written to as any other
            each[0].mul_(3)
            each.add_(1)
        assert torch.equal(found, wanted) and torch.equal(
            found.view(-1) if found.is_contiguous() else found.reshape(-1), wanted.reshape(-1)
        )


def test_a_net_of_images_with_channels_last_trains_as_any_other():
    losses = []
    for layout in (torch.contiguous_format, LAST):
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Conv2d(4, 2, 1)
        ).to(memory_format=layout)  # pyright: ignore[reportCallIssue]
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        images = torch.rand(2, 3, 6, 6).contiguous(memory_format=layout)
        found = []
        for _ in range(8):
            optimizer.zero_grad()
            loss = (net(images * 2 - 1) + images[:, :2].tanh()).square().mean()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        losses.append(found)
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
