"""`ops` and `utils` give torchvision's values and gradients."""

import io

import numpy as np
import pytest

import torchlike as torch
from tests.conftest import GOLDEN
from tests.golden.packed import unpack
from tests.vision.ops.op_cases import CASES, UTILS, arrays, boxes, floats, scores
from torchlike.vision import io as files, ops, utils

pytestmark = pytest.mark.composed

ARRAYS, _ = unpack(GOLDEN / "vision_ops.npz")


def compare(prefix: str, name: str, found: list[np.ndarray]) -> None:
    assert sum(key.rpartition("/")[0] == f"{prefix}.{name}" for key in ARRAYS) == len(found)
    for number, array in enumerate(found):
        wanted = ARRAYS[f"{prefix}.{name}/{number}"]
        assert array.dtype == wanted.dtype
        if wanted.dtype.kind == "f":
            np.testing.assert_allclose(array, wanted, atol=3e-5, rtol=3e-5, err_msg=f"{name} {number}")
        else:
            assert array.shape == wanted.shape
            assert (array != wanted).mean() <= (0.005 if wanted.dtype == np.uint8 else 0.0), f"{name} {number}"


@pytest.mark.parametrize("name", CASES)
def test_ops(name):
    compare("O", name, arrays(CASES[name](ops, torch)))


@pytest.mark.parametrize("name", UTILS)
def test_utils(name):
    pytest.importorskip("PIL.Image")
    compare("U", name, arrays(UTILS[name](utils, torch)))


def test_what_does_not_fit_is_refused():
    with pytest.raises(RuntimeError, match="boxes should be a 2d tensor, got 1D"):
        ops.nms(torch.ones(4), torch.ones(1), 0.5)
    with pytest.raises(RuntimeError, match="boxes and scores should have same number of elements in dimension 0"):
        ops.nms(boxes(torch, 3, 0), scores(torch, 4), 0.5)
    with pytest.raises(ValueError, match="Unsupported Bounding Box Conversions for given in_fmt a and out_fmt xyxy"):
        ops.box_convert(boxes(torch, 3, 0), "a", "xyxy")
    with pytest.raises(NotImplementedError, match="rotated boxes"):
        ops.box_convert(boxes(torch, 3, 0), "xywhr", "xyxy")
    with pytest.raises(AssertionError, match=r"The boxes tensor shape is not correct as Tensor\[K, 5\]"):
        ops.roi_align(floats(torch, 1, 1, 4, 4), boxes(torch, 3, 0), 2)
    with pytest.raises(ValueError, match="block size should be odd. Got 4 which is even."):
        ops.drop_block2d(floats(torch, 1, 1, 8, 8), 0.5, 4)
    with pytest.raises(ValueError, match="mode has to be either 'batch' or 'row', but got col"):
        ops.StochasticDepth(0.5, "col")(floats(torch, 2, 2))


def test_a_frozen_normalization_takes_the_state_of_a_trained_one():
    trained = torch.nn.BatchNorm2d(3)
    trained(floats(torch, 4, 3, 5, 5))
    frozen = ops.FrozenBatchNorm2d(3)
    frozen.load_state_dict(trained.state_dict())
    x = floats(torch, 2, 3, 4, 4, seed=1)
    np.testing.assert_allclose(frozen(x).numpy(), trained.eval()(x).detach().numpy(), atol=1e-5)
    assert list(frozen.parameters()) == []


def test_pictures_are_written_and_read(tmp_path):
    pytest.importorskip("PIL.Image")
    picture = (floats(torch, 3, 9, 11) * 40 + 120).clamp(0, 255).to(torch.uint8)
    files.write_png(picture, tmp_path / "a.png")
    assert torch.equal(files.read_image(str(tmp_path / "a.png")), picture)
    assert torch.equal(files.decode_png(files.encode_png(picture)), picture)
    assert files.read_image(tmp_path / "a.png", files.ImageReadMode.GRAY).shape == (1, 9, 11)
    assert files.decode_image(tmp_path / "a.png", "RGBA").shape == (4, 9, 11)
    smooth = torch.full((3, 16, 16), 77, dtype=torch.uint8)
    files.write_jpeg(smooth, tmp_path / "b.jpg", quality=95)
    assert (files.read_image(tmp_path / "b.jpg").int() - 77).abs().max() <= 2
    with pytest.raises(RuntimeError, match="Content is not png"):
        files.decode_png(files.encode_jpeg(smooth))
    with pytest.raises(ValueError, match="Image quality should be a positive number between 1 and 100"):
        files.encode_jpeg(smooth, 0)


def test_a_grid_is_saved(tmp_path):
    pytest.importorskip("PIL.Image")
    pictures = floats(torch, 4, 3, 5, 6).sigmoid()
    utils.save_image(pictures, tmp_path / "grid.png", nrow=2)
    wanted = (utils.make_grid(pictures, nrow=2) * 255 + 0.5).clamp(0, 255).to(torch.uint8)
    assert torch.equal(files.read_image(tmp_path / "grid.png"), wanted)
    buffer = io.BytesIO()
    utils.save_image(pictures[0], buffer, format="png")
    assert buffer.getvalue().startswith(b"\x89PNG")
