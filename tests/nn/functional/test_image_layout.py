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
