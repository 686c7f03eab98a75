"""The second version of the transforms gives torchvision's results for pictures, boxes and masks."""

import numpy as np
import pytest

import torchlike as torch
from tests.conftest import GOLDEN
from tests.golden.packed import unpack
from tests.vision.transforms.v2_cases import PICTURES, WITH_BOXES, mixed, run, sample, words
from torchlike.vision import tv_tensors
from torchlike.vision.transforms import v2

pytestmark = pytest.mark.composed

ARRAYS, WORDS = unpack(GOLDEN / "vision_v2.npz")


def agree(found: np.ndarray, wanted: np.ndarray, name: str) -> None:
    assert found.dtype == wanted.dtype, name
    assert found.shape == wanted.shape, name
    if wanted.dtype == np.uint8:  # a float between two integers may be rounded either way
        different = found != wanted
        assert different.mean() <= 0.005, name
        assert np.abs(found.astype(int) - wanted)[different].max(initial=0) <= 1, name
    else:
        np.testing.assert_allclose(found, wanted, atol=1e-4, rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("name", [*WITH_BOXES, *PICTURES])
def test_a_sample(name):
    for part, found in run(v2, tv_tensors, torch, name).items():
        agree(found, ARRAYS[f"{name}/{part}"], f"{name}/{part}")


def test_batches_are_mixed():
    for name, found in mixed(v2, torch).items():
        agree(found, ARRAYS[name], name)


def test_transforms_print_themselves():
    assert words(v2) == WORDS["words"]


def test_plain_tensors_are_pictures_where_there_is_no_other():
    picture, other = torch.arange(6.0).reshape(1, 2, 3), torch.arange(6.0).reshape(1, 2, 3)
    flipped, kept = v2.RandomHorizontalFlip(1.0)(picture, other)
    assert flipped.tolist() == picture.flip(-1).tolist() and kept is other
    image = tv_tensors.Image(picture)
    sample_ = v2.RandomHorizontalFlip(1.0)({"a": [other, image], "b": ("text", None)})
    assert sample_["a"][0] is other and type(sample_["a"][1]) is tv_tensors.Image and sample_["b"] == ("text", None)


def test_what_tensors_are_is_kept_by_copies_alone():
    boxes = sample(torch, tv_tensors, 1)["boxes"]
    assert type(boxes + 1) is torch.Tensor and type(boxes[0]) is torch.Tensor
    copy = boxes.clone().to(torch.float64)
    assert type(copy) is tv_tensors.BoundingBoxes and copy.format is tv_tensors.BoundingBoxFormat.XYWH
    assert copy.canvas_size == boxes.canvas_size and copy.dtype == torch.float64
    with tv_tensors.set_return_type("TVTensor"):
        assert type(tv_tensors.Image(torch.zeros(1, 2, 2)) + 1) is tv_tensors.Image
    assert type(tv_tensors.Image(torch.zeros(1, 2, 2)) + 1) is torch.Tensor
    with pytest.raises(NotImplementedError, match="rotated boxes"):
        tv_tensors.BoundingBoxes([[1.0, 2, 3, 4, 5]], format="XYWHR", canvas_size=(9, 9))


def test_types_are_converted():
    image_module = pytest.importorskip("PIL.Image")
    array = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    image = v2.ToImage()(image_module.fromarray(array))
    assert type(image) is tv_tensors.Image and image.tolist() == array.transpose(2, 0, 1).tolist()
    assert np.array_equal(np.asarray(v2.ToPILImage()(image)), array)
    scaled = v2.ToDtype(torch.float32, scale=True)(image)
    assert type(scaled) is tv_tensors.Image and scaled.tolist() == (array.transpose(2, 0, 1) / np.float32(255)).tolist()
    assert type(v2.ToPureTensor()(scaled)) is torch.Tensor
    table = v2.ToDtype({tv_tensors.Mask: torch.int64, "others": None})
    mask = table({"mask": tv_tensors.Mask(torch.ones(2, 2)), "image": image})["mask"]
    assert mask.dtype == torch.int64 and type(mask) is tv_tensors.Mask
    with pytest.raises(TypeError, match=r"Normalize\(\) does not support PIL images."):
        v2.Normalize([0.5], [0.5])(image_module.fromarray(array))


def test_samples_that_do_not_suit_are_refused():
    picture = torch.zeros(3, 4, 4)
    with pytest.raises(TypeError, match=r"RandomIoUCrop\(\) requires input sample to contain tensor or PIL images"):
        v2.RandomIoUCrop()(picture)
    with pytest.raises(ValueError, match="No bounding boxes were found in the sample"):
        v2.SanitizeBoundingBoxes(labels_getter=None)(picture)
    with pytest.raises(ValueError, match="Could not infer where the labels are in the sample"):
        v2.SanitizeBoundingBoxes()({"image": picture})
    with pytest.raises(ValueError, match=r"num_classes must be passed if the labels are index-based \(1D\)"):
        v2.MixUp()(torch.zeros(2, 3, 4, 4), torch.zeros(2, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"Required crop size \(5, 5\) is larger than input image size \(4, 4\)."):
        v2.RandomCrop(5)(picture)
    with pytest.raises(ValueError, match="Pass at least one transform"):
        v2.Compose([])
