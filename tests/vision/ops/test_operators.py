"""torch.ops.torchvision and torch.ops.image, which stand in for the libraries that an installed torchvision loads."""

# pyright: reportArgumentType=false, reportAttributeAccessIssue=false

import pytest

import torchlike as torch
from torchlike.vision import ops
from torchlike.vision._operators import LIBRARIES

pytestmark = pytest.mark.uncompiled


@pytest.fixture(scope="module")
def loaded():
    for name in ("_C", "image"):
        torch.ops.load_library(f"/packages/torchvision/{name}.so")
    return torch.ops


def test_other_libraries_are_refused():
    with pytest.raises(OSError, match="Could not load this library: /packages/other/_C.so"):
        torch.ops.load_library("/packages/other/_C.so")


def test_each_operator_has_its_schema(loaded):
    for namespace, operators in LIBRARIES.items():
        for signature in operators:
            packet = getattr(getattr(loaded, namespace), signature.partition("(")[0])
            assert packet.default._schema.name == f"{namespace}::{signature.partition('(')[0]}"


torch.manual_seed(0)
X = torch.randn(2, 8, 10, 12, dtype=torch.float64)
ROIS = torch.tensor([[0.0, 1, 1, 7, 6], [1, 0, 2, 9, 8], [0, -3, -2, 4, 4], [1, 20, 20, 30, 30]], dtype=torch.float64)
FORMS = {
    "roi_align": ((2, True), lambda x: ops.roi_align(x, ROIS, (2, 2), 0.9, 2, True)),
    "roi_pool": ((), lambda x: ops.roi_pool(x, ROIS, (2, 2), 0.9)),
    "ps_roi_align": ((2,), lambda x: ops.ps_roi_align(x, ROIS, (2, 2), 0.9, 2)),
    "ps_roi_pool": ((), lambda x: ops.ps_roi_pool(x, ROIS, (2, 2), 0.9)),
}


@pytest.mark.parametrize("name", FORMS)
def test_features_of_regions_and_their_gradients_are_those_of_the_functions(loaded, name):
    more, function = FORMS[name]
    x = X.clone().requires_grad_()
    out = getattr(loaded.torchvision, name)(x, ROIS, 0.9, 2, 2, *more)
    pooled, places = out if isinstance(out, tuple) else (out, None)
    assert torch.equal(pooled, function(x))
    seed = torch.randn_like(pooled)
    (expected,) = torch.autograd.grad(pooled, x, seed)
    beside = () if places is None else (places,)
    last = (2, 8, 10, 12)
    order = (0.9, 2, 2, *last, *more) if name == "roi_align" else (0.9, 2, 2, *more, *last)
    backward = getattr(loaded.torchvision, f"_{name}_backward")(seed, ROIS, *beside, *order)
    assert torch.allclose(backward, expected)


def test_places_and_channels_are_torchvisions(loaded):
    pooled, places = loaded.torchvision.roi_pool(X, ROIS, 0.9, 2, 2)
    inside = places >= 0
    maps = X[ROIS[:, 0].long()].flatten(2)
    read = maps.gather(2, places.clamp(min=0).flatten(2).long()).reshape(pooled.shape)
    assert torch.equal(read[inside], pooled[inside]) and not inside[3].any() and places.dtype is torch.int32
    _, channels = loaded.torchvision.ps_roi_pool(X, ROIS, 0.9, 2, 2)
    assert channels[1].flatten().tolist() == [0, 1, 2, 3, 4, 5, 6, 7]  # what torchvision 0.28 gives


def test_deformable_convolution_has_its_gradients(loaded):
    torch.manual_seed(1)
    weight, bias = torch.randn(4, 8, 3, 3, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    offset, mask = torch.randn(2, 18, 10, 12, dtype=torch.float64), torch.rand(2, 9, 10, 12, dtype=torch.float64)
    numbers = (1, 1, 1, 1, 1, 1, 1, 1)
    inputs = [t.clone().requires_grad_() for t in (X, weight, offset, mask, bias)]
    out = loaded.torchvision.deform_conv2d(*inputs, *numbers, True)
    assert torch.equal(out, ops.deform_conv2d(X, offset, weight, bias, padding=1, mask=mask))
    seed = torch.randn_like(out)
    expected = torch.autograd.grad(out, inputs, seed)
    found = loaded.torchvision._deform_conv2d_backward(seed, X, weight, offset, mask, bias, *numbers, True)
    assert all(torch.allclose(a, b) for a, b in zip(found, expected, strict=True))
    unused = loaded.torchvision._deform_conv2d_backward(seed, X, weight, offset, mask, bias, *numbers, False)[3]
    assert not unused.any()


def test_no_regions_have_no_gradient(loaded):
    backward = loaded.torchvision._roi_align_backward(
        torch.ones(0, 8, 2, 2), ROIS[:0].float(), 1.0, 2, 2, 1, 8, 4, 4, 2, False
    )
    assert backward.shape == (1, 8, 4, 4) and not backward.any()


def test_autocast_kernels_run_under_autocast_alone():
    library = torch.library.Library("test_autocast_kernels", "DEF")
    library.define("double(Tensor x) -> Tensor")
    library.impl("double", lambda x: x * 2, "CPU")
    library.impl("double", lambda x: x.float() * 3, "AutocastCPU")
    x = torch.ones(1, dtype=torch.bfloat16)
    assert torch.ops.test_autocast_kernels.double(x).tolist() == [2.0]
    with torch.autocast("cpu"):
        assert torch.ops.test_autocast_kernels.double(x).tolist() == [3.0]
    library._destroy()


def test_pictures_are_written_and_read(loaded, tmp_path):
    picture = (torch.arange(3 * 8 * 8) % 256).reshape(3, 8, 8).to(torch.uint8)
    data = loaded.image.encode_png(picture, 6)
    loaded.image.write_file(str(tmp_path / "a.png"), data)
    assert torch.equal(loaded.image.decode_image(loaded.image.read_file(str(tmp_path / "a.png")), 3), picture)
    assert loaded.image.decode_png(data, 1).shape == (1, 8, 8)


def test_what_is_missing_says_so(loaded):
    with pytest.raises(NotImplementedError, match="torchvision's operator box_iou_rotated"):
        loaded.torchvision.box_iou_rotated(torch.ones(1, 5), torch.ones(1, 5))
